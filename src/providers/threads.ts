import { Worker, type Transferable } from 'node:worker_threads';
import { errorOf, type CrossingError } from '../core/threads/crossing.ts';
import { AgentError } from '../core/errors.ts';
import { WORTH, type Job, type RunOptions, type Threads } from '../core/threads/job.ts';
import { Scratch } from '../core/threads/scratch.ts';

/** Jobs that a thread may have before it answers the first, so that it never waits for the next. */
const AHEAD = 6;

/** What goes to a thread. */
export interface Request {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

/** What comes back. */
export type Response = { readonly id: number; readonly output: unknown } | { readonly id: number; readonly error: CrossingError };

interface Running {
  readonly resolve: (output: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Waiting extends Running {
  readonly request: Request;
  readonly moves: readonly Transferable[];
}

interface Thread {
  readonly worker: Worker;
  readonly jobs: Map<number, Running>;
  isOnline: boolean;
}

/**
 * Runs jobs on threads of `script`, which answers each Request with one Response. They are started when there is enough to
 * do, and until they stand jobs run here. Only while it has a job does a thread keep the process alive. One that dies fails the jobs
 * that it had.
 */
export function createThreads(script: URL, width: number): Threads {
  const threads: Thread[] = [];
  const waiting: Waiting[] = [];
  let worked = 0;
  let next = 0;

  const give = (): void => {
    for (;;) {
      const idlest = [...threads].sort((a, b) => a.jobs.size - b.jobs.size)[0];
      if (idlest === undefined || idlest.jobs.size >= AHEAD) return;
      const one = waiting.shift();
      if (one === undefined) return;
      idlest.jobs.set(one.request.id, one);
      idlest.worker.ref();
      idlest.worker.postMessage(one.request, [...one.moves]);
    }
  };

  const start = (): void => {
    const thread: Thread = { worker: new Worker(script), jobs: new Map(), isOnline: false };
    threads.push(thread);
    thread.worker.once('online', () => {
      thread.isOnline = true;
    });
    thread.worker.on('message', (response: Response) => {
      const job = thread.jobs.get(response.id);
      thread.jobs.delete(response.id);
      if (thread.jobs.size === 0) thread.worker.unref();
      give();
      if ('error' in response) job?.reject(errorOf(response.error));
      else job?.resolve(response.output as never);
    });
    thread.worker.once('error', (cause) => {
      threads.splice(threads.indexOf(thread), 1);
      const lost = [...thread.jobs.values(), ...(threads.length === 0 ? waiting.splice(0) : [])];
      for (const job of lost) job.reject(new AgentError('INTERNAL', 'a thread of this program died', { cause }));
    });
    // After the listeners, which would keep the process alive.
    thread.worker.unref();
  };

  return {
    width,
    async run<In, Out>(job: Job<In, Out>, input: In, { cost, moves = [], waits = false }: RunOptions): Promise<Out> {
      worked += cost;
      if (threads.length === 0 && (waits || worked >= WORTH)) for (let at = 0; at < width; at++) start();
      if (!waits && !threads.some((one) => one.isOnline)) return job.run(input, new Scratch());
      return new Promise<Out>((resolve, reject) => {
        waiting.push({ request: { id: next++, name: job.name, input }, moves, resolve, reject });
        give();
      });
    },
  };
}
