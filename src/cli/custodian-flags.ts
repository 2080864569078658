import type { CustodianSource } from '../actions/custodian/custodian.ts';
import { word } from '../core/shell.ts';
import { Flags, type CommandInput } from './command.ts';

/** How a person shows the recovery key. */
export const CUSTODIAN_FLAGS = {
  kit: Flags.string({ summary: 'the recovery kit', helpValue: 'FILE', exclusive: ['custodian'] }),
  custodian: Flags.string({
    summary: 'a recovery key of your own: a key file of ssh, or a public one that ssh-agent signs for',
    helpValue: 'KEY',
  }),
  identity: Flags.string({ summary: 'age identities that open what is sealed to that key', helpValue: 'FILE' }),
};

/** What the flags say. */
export function custodianSource({ flags }: CommandInput): CustodianSource {
  return {
    kit: flags['kit'] as string | undefined,
    custodian: flags['custodian'] as string | undefined,
    identity: flags['identity'] as string | undefined,
  };
}

/** The same flags as they were typed, for a next step. */
export function custodianWords(input: CommandInput): string {
  const { kit, custodian, identity } = custodianSource(input);
  return [
    ...(kit === undefined ? [] : ['--kit', word(kit)]),
    ...(custodian === undefined ? [] : ['--custodian', word(custodian)]),
    ...(identity === undefined ? [] : ['--identity', word(identity)]),
  ].join(' ');
}
