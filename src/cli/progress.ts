import type { Progress } from '../actions/session/ports.ts';
import { showBytes } from './text.ts';
import type { Terminal } from './terminal.ts';

/** Milliseconds between two redraws. */
const REDRAW = 100;

/** Shows long work on one line of a terminal; elsewhere it is silent. */
export function progressLine(terminal: Terminal): Progress {
  if (!terminal.errIsTerminal) return () => undefined;
  let last = 0;
  return ({ phase, files, bytes }) => {
    const now = Date.now();
    if (now - last < REDRAW) return;
    last = now;
    const counts = [files === undefined ? '' : `${String(files)} files`, bytes === undefined ? '' : showBytes(bytes)]
      .filter((one) => one !== '')
      .join(', ');
    process.stderr.write(`\r\u001b[K${phase}: ${counts}\r`);
  };
}
