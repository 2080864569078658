import { type FencePlan, type FenceResult } from '../../actions/fence.ts';
import { count } from '../text.ts';

/** Says what came of `agent fence`, for a person. */
export function fenceText({ session, offeredTo, ended }: FenceResult): string {
  const stopped = ended.length === 0 ? '' : `${count(ended.length, 'guarded run')} ended; `;
  if (offeredTo === null)
    return `${stopped}${session.name} is fenced since record ${String(session.state.seq)}\nnext: agent resume   # it may act again here\n`;
  return `${stopped}${session.name} is offered to ${offeredTo}, record ${String(session.state.seq)}\nnext: agent pack -o FILE   # then on the target: agent rehydrate FILE DIR\n`;
}

/** Says what came of `agent fence`, for a person. */
export function fencePlanText({ target, guards, writers, alarms }: FencePlan): string {
  const lines = [
    target === null ? 'would fence' : `would fence and offer to ${target}`,
    ...guards.map((guard) => `would end guard ${String(guard.pid)}: ${guard.command}`),
    ...writers.map((one) => `would refuse: process ${String(one.pid)} (${one.program}) has '${one.path}' open for writing`),
    ...(target === null ? [] : alarms.map((one) => `would refuse: alarm ${one}`)),
  ];
  return `${lines.join('\n')}\n`;
}
