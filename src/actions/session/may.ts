import type { Action } from '../../ledger/conditions.ts';
import { decide } from '../../ledger/decide.ts';
import { refusal } from './refusal.ts';
import { hasHost, type HostSession, type Session } from './session.ts';

/** Throws the refusal where this host may not do `action` with this root; else gives the session back with its host. */
export function assertMay(session: Session, action: Action): HostSession {
  if (!hasHost(session)) throw refusal(session, { allowed: false, obstacle: 'FOREIGN', condition: 'holder' });
  const decision = decide(session.state, session.view, action);
  if (!decision.allowed) throw refusal(session, decision);
  return session;
}
