import { parentPort } from 'node:worker_threads';
import { CAPTURE_LANE } from './capture/lane/lane.ts';
import { Scratch } from './core/threads/scratch.ts';
import { describeError } from './core/threads/crossing.ts';
import type { Job } from './core/threads/job.ts';
import { GarbageBudget } from './core/memory.ts';
import { STAGE_LANE } from './install/stage-lane.ts';
import type { Request, Response } from './providers/threads.ts';
import { ENCODE_FRAME } from './store/packs/frame.ts';
import { SEAL_PACK } from './store/packs/pack.ts';
import { COPY_FILE, DIGEST_FILE, READ_PACK } from './store/packs/pack-jobs.ts';

/** Every job that may run beside the main thread. */
const jobs = new Map(
  [CAPTURE_LANE, COPY_FILE, DIGEST_FILE, ENCODE_FRAME, READ_PACK, SEAL_PACK, STAGE_LANE].map((job) => [
    job.name,
    job as Job<unknown, unknown>,
  ]),
);

parentPort?.on('message', (request: Request) => {
  void answer(request);
});

const memory = new GarbageBudget();
const scratch = new Scratch();

async function answer({ id, name, input }: Request): Promise<void> {
  let response: Response;
  let gives: readonly ArrayBuffer[] = [];
  try {
    const job = jobs.get(name);
    if (job === undefined) throw new Error(`no job '${name}'`);
    const output = await job.run(input, scratch);
    gives = job.gives?.(output) ?? [];
    response = { id, output };
    memory.check();
  } catch (error) {
    response = { id, error: describeError(error) };
  }
  parentPort?.postMessage(response, [...gives]);
}
