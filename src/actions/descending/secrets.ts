import { join, relative as pathFrom } from 'node:path';
import { AgentError, type Hint } from '../../core/errors.ts';
import { showName, type RelPath } from '../../core/name.ts';
import { word } from '../../core/shell.ts';
import type { TreeSide } from '../../manifest/compare.ts';
import { chunksOf, walkTree } from '../../manifest/tree.ts';
import { openSecretScan, type SecretFinding } from '../../providers/secret-scan.ts';
import { isWithin, nameOf, partsOf } from '../restoring/parts.ts';
import { progressOf } from '../session/progress.ts';
import type { Session } from '../session/session.ts';
import type { OpenState } from '../state/open-state.ts';

/** A probable secret in a file: never its text. */
interface FoundSecret extends SecretFinding {
  readonly path: string;
}

/** What a scan found in files that leave. */
export interface SecretsReport {
  /** Findings that were said to be none. */
  readonly accepted: readonly FoundSecret[];
  /** Archives whose content was not looked into, each with its kind. */
  readonly notLookedInto: readonly { readonly path: string; readonly kind: string }[];
}

/** So many files are named together in a command to type next. */
const NAMED = 10;
/** So many lines of a file are named for a rule. */
const LINES = 20;

/** Paths of an option, as paths of a state; throws where it does not hold one. */
export async function pathsOf(
  session: Session,
  { paths, state, seq }: { readonly paths: readonly string[]; readonly state: OpenState; readonly seq: number },
): Promise<readonly RelPath[]> {
  if (paths.length === 0) return [];
  const named = paths.map((path) => nameOf(session, path, []));
  return (await partsOf(session, { target: state, head: state }, { named, seq })).flatMap(({ within }) => within);
}

/**
 * Looks for secrets in every file of a tree that leaves in clear. Throws SECRET_FOUND with every finding that is not
 * accepted; `command` is what was typed, for the next steps. Writes nothing.
 */
export async function refuseSecrets(
  session: Session,
  {
    tree,
    accept,
    seq,
    command,
  }: { readonly tree: TreeSide; readonly accept: readonly RelPath[]; readonly seq: number; readonly command: string },
): Promise<SecretsReport> {
  const scan = await openSecretScan();
  const told = progressOf(session.ports, 'scan');
  const accepted: FoundSecret[] = [];
  const refused = new Map<RelPath, readonly SecretFinding[]>();
  const notLookedInto: SecretsReport['notLookedInto'][number][] = [];
  for await (const { path, entry } of walkTree(tree.pages, tree.get)) {
    // Another name of the same file: its first name is in the tree, too.
    if (entry.type !== 'file' || entry.same !== undefined) continue;
    const read = async function* (): AsyncGenerator<Buffer> {
      for await (const digest of chunksOf(entry, tree.get)) yield await tree.get(digest);
    };
    const { findings, closed } = await scan({ path: showName(path), read });
    if (closed !== null) notLookedInto.push({ path: showName(path), kind: closed });
    if (isWithin(path, accept)) for (const { rule, line } of findings) accepted.push({ path: showName(path), rule, line });
    else if (findings.length > 0) refused.set(path, findings);
    told(1, BigInt(entry.size));
  }
  if (refused.size > 0) throw refusal(session, { refused, seq, command });
  return { accepted, notLookedInto };
}

function refusal(
  session: Session,
  {
    refused,
    seq,
    command,
  }: { readonly refused: ReadonlyMap<RelPath, readonly SecretFinding[]>; readonly seq: number; readonly command: string },
): AgentError {
  const files = [...refused.keys()];
  const each = (flag: string): string =>
    files.length > NAMED
      ? `${flag} PATH`
      : files.map((path) => `${flag} ${word(pathFrom(session.ports.cwd, join(session.root, path)))}`).join(' ');
  const found = [...refused.values()].reduce((sum, findings) => sum + findings.length, 0);
  const [first = ''] = files;
  const rest = files.length === 1 ? '' : ` and ${String(files.length - 1)} more`;
  return new AgentError(
    'SECRET_FOUND',
    `the new agent would get ${String(found)} probable secret${found === 1 ? '' : 's'}, in '${showName(first)}'${rest}; nothing was written`,
    {
      hints: [
        ...[...refused].map(([path, findings]): Hint => {
          const shown = word(`${String(seq)}:${path}`);
          return { command: `agent show ${shown}`, effect: placesOf(findings) };
        }),
        { command: `${command} ${each('--without')}`, effect: 'leaves out what holds one; repeat --without for more' },
        { command: `${command} ${each('--accept')}`, effect: 'where you looked, and it is none' },
      ],
    },
  );
}

/** Where something was found in a file, by rule: `line 3: github; lines 7, 9: aws`. */
function placesOf(findings: readonly SecretFinding[]): string {
  return [...new Set(findings.map(({ rule }) => rule))]
    .map((rule) => {
      const lines = findings.filter((one) => one.rule === rule).map(({ line }) => String(line));
      const more = lines.length > LINES ? ` and ${String(lines.length - LINES)} more` : '';
      return `line${lines.length === 1 ? '' : 's'} ${lines.slice(0, LINES).join(', ')}${more}: ${rule}`;
    })
    .join('; ');
}
