import type { ErrorCode } from '../core/errors.ts';

/** What each error code means and what can be done; a code without a page does not compile. */
export const CODE_PAGES: Readonly<Record<ErrorCode, string>> = {
  USAGE_WRONG: "The arguments do not fit. 'agent COMMAND --help' lists them.",
  PROFILE_UNKNOWN: 'There is no such profile, or the file that was named is none. --profile generic takes any directory.',
  HOST_UNKNOWN:
    'The host that was named is no file and not known here, or it is a stranger. Compare the six words that its agent invite shows\n(--expect WORDS), or say that the way its invite came is trusted (--accept-new).',
  REVISION_UNKNOWN:
    'No state has this name: HEAD, HEAD~2, the number of a record, or the first digits of a digest. gc may have given it up.',
  PATH_UNKNOWN: 'The state holds nothing at this path, or the path does not lie in the agent.',
  OUTPUT_INSIDE_ROOT: 'A bundle inside the agent would be part of the next one. Write it elsewhere.',
  KIT_INSIDE_ROOT: 'A kit in the agent or in the host directory is found by whoever steals either. Put it on a medium that you put away.',
  ASSERTION_UNCONFIRMED:
    "The command does what only a person can answer for. It printed what follows from it; say so with --yes --reason TEXT, or type\nthe agent's name on a terminal. The reason is sealed into the ledger.",
  WORDS_DIFFER:
    'The invite is not that of the host that you spoke with: it was replaced on its way, or another host made it. Do not go on.',
  RESTORE_UNCONFIRMED: 'A restore was planned and not said yes to. --yes does it, --dry-run shows it again.',
  AGENT_EXISTS: 'The directory is an agent, holds one, or lies in one.',
  PROFILE_EXISTS: 'A profile of this name is there, and is not written over. Edit it, or take another name.',
  KIT_EXISTS: 'A recovery kit is never written over. Name another file.',
  TARGET_OCCUPIED: 'What lies in the directory is something else. Name one that does not exist yet.',
  TARGET_MOUNTED: 'A mount point cannot be swapped as a whole. Use a directory on it.',
  TARGET_ACTING: 'The directory is the agent itself, and may act: it is not replaced by a copy.',
  BUNDLE_FOREIGN: 'The bundle is of another agent.',
  FILE_MISSING: 'A file that was named does not exist. Relative paths are taken from the current directory, or from that of -C.',
  FILE_UNREADABLE: 'The system does not let this account read it, or it is no regular file.',
  FILE_UNWRITABLE: 'The system does not let this account write it, or whoever was to read it has gone.',
  SPACE_SHORT: 'The disk has no room. What was begun was taken back.',
  LIMIT_FAT: 'FAT holds no file of 4 GiB. A bundle directory has small files: agent pack -o DIR.',
  CLOCK_BEHIND:
    'The clock of this host is behind a record of the ledger, so that ages and times of grace would be wrong. Set it right; nothing was\ngiven up.',
  SIGNER_FAILED: 'ssh-keygen did not sign for the recovery key: the agent of ssh has not got it, or its passphrase was not given.',
  READERS_EXCEEDED: 'An envelope is sealed to at most 64. Remove a reader first; a group of people can share one identity.',
  SECRET_FOUND:
    'Files that a new agent would get in clear look as if they held secrets. Each is named with its lines, never with what it holds. Look at\nthem; then leave them out (--without PATH), or say that they hold none (--accept PATH). Nothing was written. A secret that was\nrecorded stays in older states: replace it where it is valid.',
  CHECKPOINT_MISSING: 'Nothing is recorded yet: agent checkpoint.',
  FENCE_MISSING: 'The agent is not fenced.',
  OFFER_MISSING: 'No offer is open, and the command belongs to one. agent status shows where things stand.',
  NAME_COLLISION: 'Two names of the tree are one on this file system, which folds case or accents. Use one that tells them apart.',
  NAME_INVALID: 'A name cannot be a file name, or would leave the tree. No agent of ours has such a name: do not trust the bundle.',
  COMMAND_FAILED: 'A command of the profile ended with a failure. Run it by hand, then the same command again.',
  REPLY_FOREIGN: 'The reply is about another agent, another offer, or not for this host.',
  ALARM_OPEN:
    'Memory vanished, was emptied or no longer parses, or identity or body changed. Look (agent diff HEAD~1 HEAD); then declare that it\nis meant (agent checkpoint --declare KIND), or put it back (agent restore). Until then nothing is offered.',
  TREE_DIFFERS:
    'The tree is not the state that is recorded or offered. agent verify lists each path; rehydrate puts the offered state in place.',
  AGENT_MISSING: 'There is no agent here. agent init makes one of this directory; -C DIR names another.',
  LOCK_HELD: 'Another process works on this agent. After a crash the lock is given up by itself within ten seconds.',
  GUARD_RUNNING: 'A guarded run goes on. agent fence ends it.',
  WRITER_FOUND: 'A process has a file of the agent open for writing. Stop it, then the same command again.',
  TREE_CHANGING: 'Files change and nobody was found to have them open. Stop what writes, then the same command again.',
  RACE_LOST: 'Another process wrote at the same moment and was first. agent status shows what it did.',
  REHOME_DUE:
    'The agent came from another place, and its files name that one. agent rehome makes it one of this place: it rewrites paths, holds\nqueues and drops leases, as the profile says, and records that. --dry-run shows it, --as-is leaves all as it is.',
  REHOME_STUCK:
    'A file that names the old place, or a queue in a database, could not be changed. Mend it, or leave it as it is with --skip PATH.\nNothing was changed.',
  REHOME_UNFINISHED: 'A rehome was interrupted, and the tree is a mixture that is not to be recorded. agent rehome finishes it.',
  RESTORE_UNFINISHED:
    'A restore was interrupted, and the tree is a mixture of two states that is not to be recorded. The same restore again finishes it;\nagent restore HEAD goes back to what was recorded before it.',
  KEY_UNFIT:
    'No key at hand opens it. A target is sealed to by agent fence --to with its invite; a reader is added by agent keys add; the recovery\nkit opens everything.',
  KIT_UNFIT:
    'The file is no recovery kit, or not that of this agent, or not the one that the ledger names now. agent keys list shows which.',
  LEDGER_DAMAGED: 'The ledger is not one chain of signed records. Bring a whole copy; this one was left as it is.',
  BUNDLE_DAMAGED: 'A part of the bundle is missing, cut or altered. Copy it again from where it came; agent verify lists all.',
  PACK_DAMAGED: 'A pack is not what its name says, or does not open with its key. Copy it again from where it came.',
  MANIFEST_DAMAGED: 'A manifest is not what its name says, or not valid.',
  MESSAGE_DAMAGED: 'The invite or reply was altered, cut, or is none. The host that made it prints it again.',
  MEDIUM_DAMAGED: 'What was read back from the medium is not what was written. Use another medium.',
  HOST_DAMAGED: 'The host directory is damaged. Put its files back from where they went; without them this host is another one.',
  TREE_DAMAGED: 'A tree in a bundle is not well formed, or came out otherwise than it should on this disk.',
  AF_DAMAGED:
    'The agent file is no JSON, too large, or holds no agent of Letta; or the files that its import wrote no longer fit together.',
  BUNDLE_INCOMPLETE: 'A state that is needed did not arrive whole, or builds on one that is not here. The error names what is missing.',
  FENCED: 'Nobody may act until agent resume.',
  OFFERED: 'The agent waits for the word of another host: agent close REPLY. Where that host is lost for ever, agent revoke.',
  SUPERSEDED: 'The agent has moved, and lives on another host. This directory is what it was when it left.',
  FOREIGN: 'Another host holds the agent; this is a replica. It can be verified and read, and may not act.',
  COPY: 'The directory is a copy of the agent that this host runs elsewhere. agent resume --here makes this one the agent.',
  CLONED: 'The host directory came from another machine or account. agent resume --here says that the other one stays off.',
  RESTORED:
    'The host directory was copied or put back, so that it may not know what the agent did since. agent resume --here says that it does.',
  OFFER_EXPIRED: 'The offer ended before it was taken up. agent decline lets the source act again.',
  COSIGNATURE_MISSING: 'The policy of the agent asks for the signature of a recovery key, too: the same command with --kit FILE.',
  OFFER_ELSEWHERE: 'The agent is offered to another host than this one.',
  STALE:
    'The tree is older than what this host has seen: a backup was put back over it. Rehydrate a newer copy, or, where only checkpoints of\nthis host are lost, agent resume --accept-loss.',
  FORKED:
    'Two records follow the same one: two copies acted. Keep both as proof. agent recover BRANCH DIR --kit FILE goes on from the one that\nyou name.',
  LOSS_REFUSED: 'What is newer than this tree may live on another host, so that it cannot be given up here. Bring a copy that has it.',
  FORMAT_UNSUPPORTED: 'It was written by a newer program, and stays as it is. npm i -g perdure@latest may read it.',
  REQUIREMENT_MISSING: 'The agent requires a program that is not on PATH here. Install it, then the same command again.',
  INTERRUPTED: 'The program was told to end. The same command again goes on.',
  INTERNAL: 'A bug of this program. PERDURE_DEBUG=1 shows where; please report it.',
};
