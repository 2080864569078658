/** Exit statuses of the program; the only place where an error code gets its status. */
export const STATUS = {
  done: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  differs: 4,
  noAgent: 10,
  busy: 11,
  noKey: 12,
  damaged: 13,
  mayNotAct: 14,
  stale: 15,
  unsupported: 16,
  requirement: 17,
  invariant: 18,
  bug: 70,
  interrupted: 130,
} as const;

const CODES = {
  USAGE_WRONG: 2,
  PROFILE_UNKNOWN: 2,
  HOST_UNKNOWN: 2,
  REVISION_UNKNOWN: 2,
  PATH_UNKNOWN: 2,
  OUTPUT_INSIDE_ROOT: 2,
  KIT_INSIDE_ROOT: 2,
  ASSERTION_UNCONFIRMED: 2,
  WORDS_DIFFER: 2,
  RESTORE_UNCONFIRMED: 2,
  AGENT_EXISTS: 1,
  PROFILE_EXISTS: 1,
  KIT_EXISTS: 1,
  TARGET_OCCUPIED: 1,
  TARGET_MOUNTED: 1,
  TARGET_ACTING: 1,
  BUNDLE_FOREIGN: 1,
  FILE_MISSING: 1,
  FILE_UNREADABLE: 1,
  FILE_UNWRITABLE: 1,
  SPACE_SHORT: 1,
  CHECKPOINT_MISSING: 1,
  FENCE_MISSING: 1,
  OFFER_MISSING: 1,
  NAME_COLLISION: 1,
  NAME_INVALID: 1,
  COMMAND_FAILED: 1,
  REPLY_FOREIGN: 1,
  LIMIT_FAT: 1,
  MEDIUM_DAMAGED: 13,
  CLOCK_BEHIND: 1,
  SIGNER_FAILED: 1,
  READERS_EXCEEDED: 1,
  SECRET_FOUND: 1,
  ALARM_OPEN: 18,
  TREE_DIFFERS: 4,
  AGENT_MISSING: 10,
  LOCK_HELD: 11,
  GUARD_RUNNING: 11,
  WRITER_FOUND: 11,
  TREE_CHANGING: 11,
  RACE_LOST: 11,
  REHOME_DUE: 14,
  REHOME_STUCK: 1,
  REHOME_UNFINISHED: 11,
  RESTORE_UNFINISHED: 11,
  KEY_UNFIT: 12,
  KIT_UNFIT: 12,
  LEDGER_DAMAGED: 13,
  BUNDLE_DAMAGED: 13,
  PACK_DAMAGED: 13,
  MANIFEST_DAMAGED: 13,
  MESSAGE_DAMAGED: 13,
  HOST_DAMAGED: 13,
  TREE_DAMAGED: 13,
  AF_DAMAGED: 13,
  BUNDLE_INCOMPLETE: 13,
  FENCED: 14,
  OFFERED: 14,
  SUPERSEDED: 14,
  FOREIGN: 14,
  COPY: 14,
  CLONED: 14,
  RESTORED: 14,
  OFFER_EXPIRED: 14,
  COSIGNATURE_MISSING: 14,
  OFFER_ELSEWHERE: 14,
  STALE: 15,
  FORKED: 15,
  LOSS_REFUSED: 15,
  FORMAT_UNSUPPORTED: 16,
  REQUIREMENT_MISSING: 17,
  INTERRUPTED: 130,
  INTERNAL: 70,
} as const satisfies Record<string, number>;

/** Every code that an error of this program can carry. */
export type ErrorCode = keyof typeof CODES;

/** A command to type next, and what it costs. */
export interface Hint {
  readonly command: string;
  readonly effect?: string;
}

const mark = Symbol.for('perdure.AgentError');

/** The one error class: a code, a line that names the subject, and next steps. */
export class AgentError extends Error {
  readonly [mark] = true;
  readonly code: ErrorCode;
  readonly hints: readonly Hint[];

  constructor(code: ErrorCode, message: string, options: { readonly hints?: readonly Hint[]; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = code;
    this.code = code;
    this.hints = options.hints ?? [];
  }
}

/** Recognises an AgentError across bundle chunks and realms. */
export function isAgentError(value: unknown): value is AgentError {
  return typeof value === 'object' && value !== null && mark in value;
}

/** The exit status of an error code. */
export function statusOf(code: ErrorCode): number {
  return CODES[code];
}

/** The `code` of a Node system error, or undefined. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
