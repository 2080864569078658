import type { NewCustodian } from '../actions/custody.ts';
import { AgentError } from '../core/errors.ts';
import { Flags, type CommandInput } from './command.ts';

/** Where the recovery key of a new agent goes, or that there is to be none. */
export const RECOVERY_FLAGS = {
  'recovery-kit': Flags.string({ summary: 'write the recovery key to this new file, and keep it offline', helpValue: 'FILE' }),
  'no-recovery': Flags.boolean({ summary: 'no recovery key: a lost host is a lost agent' }),
  custodian: Flags.string({ summary: 'a public Ed25519 key of ssh that is to be the recovery key', helpValue: 'KEY.pub' }),
  'recovery-recipient': Flags.string({ summary: 'with --custodian: the age recipient to seal to', helpValue: 'age1…' }),
};

/** What the flags say; throws USAGE_WRONG where they say nothing or too much. `command` is named in the next steps. */
export function recoveryOf(flags: CommandInput['flags'], command: string): NewCustodian | null {
  const kit = flags['recovery-kit'] as string | undefined;
  const key = flags['custodian'] as string | undefined;
  const recipient = flags['recovery-recipient'] as string | undefined;
  if ((key === undefined) !== (recipient === undefined))
    throw new AgentError('USAGE_WRONG', '--custodian signs and --recovery-recipient opens: both are needed', {
      hints: [{ command: `${command} --custodian KEY.pub --recovery-recipient age1…` }],
    });
  if ([kit !== undefined, key !== undefined, flags['no-recovery'] === true].filter(Boolean).length !== 1)
    throw new AgentError('USAGE_WRONG', 'say where the recovery kit goes, or that there is to be none', {
      hints: [
        {
          command: `${command} --recovery-kit FILE`,
          effect: 'FILE on a medium that you put away; it brings the agent back when the host is lost',
        },
        { command: `${command} --no-recovery`, effect: 'a lost host is then a lost agent' },
      ],
    });
  if (kit !== undefined) return { kit };
  return key !== undefined && recipient !== undefined ? { key, recipient } : null;
}
