import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { describeError, errorOf, type CrossingError } from './crossing.ts';
import type { Job, Threads } from './job.ts';

/** A conversation with work that keeps something between its messages: an open file, a pack, a frame that fills. */
export interface Lane<To> {
  send(message: To): void;
  /** Ends it: what was sent and not begun is dropped. Resolves when nothing of it runs any more. */
  close(): Promise<void>;
}

/** How one end of a lane sends: `moves` are buffers that it lets go of. */
export type Send<From> = (message: From, moves?: readonly ArrayBuffer[]) => void;

/** The job of a lane, which takes one kind of messages and sends another. */
export interface LaneJob<To, From> extends Job<{ readonly port: MessagePort; readonly stop: SharedArrayBuffer }, null> {
  /** Only for the types: nobody calls it. */
  readonly speaks?: (message: To) => From;
}

type Wire<From> = { readonly message: From } | { readonly failed: CrossingError };

/** The end of a lane that works. */
export interface LaneEnd<To> {
  readonly take: (message: To) => void;
  /** Lets go of what it holds. */
  readonly end?: () => void;
}

/** Makes the job of a lane out of what takes its messages; an error that it throws ends the lane and is told. */
export function laneJob<To, From>(name: string, begin: (send: Send<From>) => LaneEnd<To>): LaneJob<To, From> {
  return {
    name,
    run: ({ port, stop }) =>
      new Promise((resolve) => {
        const stopped = new Int32Array(stop);
        const { take, end } = begin((message, moves = []) => {
          port.postMessage({ message } satisfies Wire<From>, [...moves]);
        });
        port.on('message', (message: To | null) => {
          try {
            if (message !== null) {
              if (Atomics.load(stopped, 0) === 0) take(message);
              return;
            }
          } catch (error) {
            port.postMessage({ failed: describeError(error) } satisfies Wire<From>);
          }
          end?.();
          port.close();
          resolve(null);
        });
      }),
  };
}

/** Opens a lane on a thread of its own, or on this one. */
export function openLane<To, From>(
  threads: Threads,
  job: LaneJob<To, From>,
  { onMessage, onFailure }: { readonly onMessage: (message: From) => void; readonly onFailure: (error: unknown) => void },
): Lane<To> {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (wire: Wire<From>) => {
    if ('failed' in wire) onFailure(errorOf(wire.failed));
    else onMessage(wire.message);
  });
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const ended = threads.run(job, { port: port2, stop }, { cost: 0, moves: [port2], waits: true }).catch(onFailure);
  return {
    send(message) {
      port1.postMessage(message);
    },
    async close() {
      Atomics.store(new Int32Array(stop), 0, 1);
      port1.postMessage(null);
      await ended;
      port1.close();
    },
  };
}
