import { actors, moves } from './model.ts';
import { firstWorld, worldKey, type Rules, type World } from './world.ts';

/** What an exploration found. */
export interface Exploration {
  readonly worlds: number;
  readonly depth: number;
  /** Whether every reachable world within the depth was visited. */
  readonly exhausted: boolean;
  /** The moves that lead to a world in which the property fails, or null. */
  readonly broken: readonly string[] | null;
}

/** At most one root may act, and none while the newest fence or offer stands. */
function fails(world: World, rules: Rules): boolean {
  const found = actors(world, rules);
  return found.length > 1 || (world.truth.stopped && found.length > 0);
}

/** Visits every world that is reachable within so many moves, breadth first. */
export function explore(rules: Rules, { depth, limit }: { readonly depth: number; readonly limit: number }): Exploration {
  const start = firstWorld();
  const seen = new Map<string, { readonly from: string | null; readonly move: string }>([
    [worldKey(start, rules), { from: null, move: 'begin' }],
  ]);
  let level: World[] = [start];
  for (let at = 0; at < depth; at++) {
    const next: World[] = [];
    for (const world of level) {
      const from = worldKey(world, rules);
      for (const move of moves(world, rules)) {
        const name = worldKey(move.world, rules);
        if (seen.has(name)) continue;
        seen.set(name, { from, move: move.name });
        if (fails(move.world, rules)) return { worlds: seen.size, depth: at + 1, exhausted: false, broken: path(seen, name) };
        next.push(move.world);
        if (seen.size >= limit) return { worlds: seen.size, depth: at + 1, exhausted: false, broken: null };
      }
    }
    if (next.length === 0) return { worlds: seen.size, depth: at, exhausted: true, broken: null };
    level = next;
  }
  return { worlds: seen.size, depth, exhausted: true, broken: null };
}

function path(seen: ReadonlyMap<string, { readonly from: string | null; readonly move: string }>, end: string): readonly string[] {
  const moves: string[] = [];
  for (let at: string | null = end; at !== null;) {
    const step = seen.get(at);
    if (step === undefined) break;
    moves.unshift(step.move);
    at = step.from;
  }
  return moves;
}
