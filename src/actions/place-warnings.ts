import { dirname, join } from 'node:path';
import type { Ports } from './session/ports.ts';

const CAVEATS = {
  overlay: (type: string) =>
    `the directory lies on ${type}, the layer of a container: what is written is gone with the container. Keep the agent and the host directory on volumes`,
  network: (type: string) =>
    `the directory lies on ${type}: another machine may write it, too, and locks of this host do not reach it. Run the agent from one machine only`,
  memory: (type: string) => `the directory lies on ${type}, in memory: it is gone after the next start`,
} as const;

/** What a person has to know of the place where an agent is: its file system, and a repository around it. */
export async function placeWarnings({ files, fileSystem, hostDirectory }: Ports, root: string): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const [path, what] of [
    [root, 'agent'],
    [hostDirectory, 'host directory'],
  ] as const) {
    const kind = await fileSystem(path);
    if (kind?.caveat == null) continue;
    const text = CAVEATS[kind.caveat](kind.type);
    warnings.push(what === 'agent' ? text : text.replace('the directory lies', `the host directory '${hostDirectory}' lies`));
  }
  for (let at = root; ; at = dirname(at)) {
    if (await files.exists(join(at, '.git'))) {
      warnings.push(
        at === root
          ? `the directory is a Git work tree: git clean -fdx would remove .perdure. echo /.perdure/ >>'${join(at, '.git', 'info', 'exclude')}' keeps it out of commits`
          : `the directory lies in the Git repository '${at}': its owner's git clean would remove the agent's .perdure, and git add would publish it. Name it in '${join(at, '.gitignore')}'`,
      );
      break;
    }
    if (at === dirname(at)) break;
  }
  return warnings;
}
