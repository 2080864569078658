import { canonical, parseJson, type Json } from '../core/canonical.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { inviteValid, messageValid, replyValid } from '../core/generated/validators.js';
import type { PublicKey, SigningKey } from '../core/ssh/key.ts';
import { signText, verifyText } from '../core/ssh/signature.ts';
import { sixWords } from '../core/words.ts';
import { parseLine, type AgentId, type SignedRecord } from './record.ts';

/** A host's request for an agent. */
export interface Invite {
  readonly format: 'perdure-invite/1';
  readonly by: PublicKey;
  readonly recipient: string;
  /** What the host calls itself. */
  readonly label: string;
  readonly at: string;
  readonly abilities: { readonly node: string; readonly platform: string; readonly tools: readonly string[]; readonly freeBytes: string };
  /** Agents that it knows, with the newest record and state that it has. */
  readonly has: readonly { readonly agent: AgentId; readonly seq: number; readonly digest: Digest; readonly manifest?: Digest }[];
}

/** A target's answer: the records that it wrote, for the source's ledger. */
export interface Reply {
  readonly format: 'perdure-reply/1';
  readonly by: PublicKey;
  readonly agent: AgentId;
  readonly records: readonly string[];
}

/** The SSHSIG namespace of invites and replies. */
const MESSAGE_NAMESPACE = 'perdure-message@v1';

/** Signs a message; the same message is the same text. Ends with a newline. */
export function signMessage(message: Invite | Reply, key: SigningKey): string {
  const text = canonical(message as unknown as Json);
  return `${canonical({ message: text, sigs: [signText(text, { key, namespace: MESSAGE_NAMESPACE })] })}\n`;
}

/** Reads an invite and verifies it; throws MESSAGE_DAMAGED. */
export function parseInvite(bytes: Buffer): Invite {
  return open(bytes, { name: 'invite', valid: inviteValid }) as Invite;
}

/** Reads a reply, verifies it and each record in it; throws MESSAGE_DAMAGED or LEDGER_DAMAGED. */
export function parseReply(bytes: Buffer): { readonly reply: Reply; readonly records: readonly SignedRecord[] } {
  const reply = open(bytes, { name: 'reply', valid: replyValid }) as Reply;
  return { reply, records: reply.records.map(parseLine) };
}

/** The six words of a host, which people compare over a second channel. */
export function hostWords(host: { readonly key: PublicKey; readonly recipient: string }): string {
  return sixWords(`${host.key}\n${host.recipient}`);
}

function open(bytes: Buffer, kind: { readonly name: string; readonly valid: (value: unknown) => boolean }): unknown {
  if (bytes.length === 0) throw refuse(kind.name, `nothing came: whoever was to print the ${kind.name} ended without it`);
  const outer = parseJson(bytes.toString('utf8'));
  if (!messageValid(outer)) throw refuse(kind.name, `this is no ${kind.name}`);
  const { message, sigs } = outer as { readonly message: string; readonly sigs: readonly string[] };
  const value = parseJson(message);
  if (
    typeof value === 'object' &&
    value !== null &&
    'format' in value &&
    typeof value.format === 'string' &&
    value.format.startsWith(`perdure-${kind.name}/`) &&
    value.format !== `perdure-${kind.name}/1`
  )
    throw new AgentError('FORMAT_UNSUPPORTED', `the ${kind.name} is in '${value.format}'; this program reads perdure-${kind.name}/1`);
  if (!kind.valid(value)) throw refuse(kind.name, `this is no ${kind.name}`);
  const { by } = value as { readonly by: PublicKey };
  if (!verifyText(message, { key: by, namespace: MESSAGE_NAMESPACE, signature: sigs[0] ?? '' }))
    throw refuse(kind.name, `the ${kind.name} was altered: its signature does not fit`);
  return value;
}

function refuse(name: string, message: string): AgentError {
  const command = name === 'invite' ? 'agent invite' : 'agent promote';
  return new AgentError('MESSAGE_DAMAGED', message, { hints: [{ command, effect: `on the host that made it: prints the ${name} again` }] });
}
