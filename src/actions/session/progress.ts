import type { Ports } from './ports.ts';

/** Progress of a walk, for the terminal. */
export function progressOf(ports: Pick<Ports, 'progress'>, phase: string): (files: number, bytes: bigint) => void {
  let all = 0;
  let total = 0n;
  return (files, bytes) => {
    const told = all >> 8;
    all += files;
    total += bytes;
    if (all >> 8 > told) ports.progress({ phase, files: all, bytes: total });
  };
}
