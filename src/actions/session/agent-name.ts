import { AgentError } from '../../core/errors.ts';
import { showName } from '../../core/name.ts';

/** The longest name that people give an agent, in characters. */
const LONGEST = 100;

/** Checks what people call an agent: one line that a terminal shows as it is; throws USAGE_WRONG. */
export function checkAgentName(name: string): string {
  if (name.trim() !== '' && name.length <= LONGEST && showName(name) === name) return name;
  throw new AgentError(
    'USAGE_WRONG',
    `'${showName(name.slice(0, LONGEST))}' is no name for an agent: 1 to ${String(LONGEST)} characters that can be shown`,
    {
      hints: [{ command: 'agent init --name NAME' }],
    },
  );
}
