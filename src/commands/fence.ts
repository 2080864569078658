import { basename } from 'node:path';
import { word } from '../core/shell.ts';
import { fence, planFence, type FenceOptions } from '../actions/fence.ts';
import { openCustodian } from '../actions/custodian/custodian.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../cli/custodian-flags.ts';
import { duration } from '../cli/duration.ts';
import { readHost } from '../cli/host-argument.ts';
import { count, hookNotes } from '../cli/text.ts';
import { STATUS, isAgentError } from '../core/errors.ts';
import { fenceText, fencePlanText } from '../cli/present/fence.ts';

export default class Fence extends AgentCommand {
  static override summary = 'stop the agent from acting and, with --to, offer it to another host';
  static override usage = 'fence [--to INVITE|KNOWN-HOST] [--expect WORDS|--accept-new] [--drain TIME] [--no-stop] [--dry-run]';
  static override description =
    'Fence, drain and stop guarded runs, look for writers, final checkpoint, offer. What refuses half-way resumes by itself.\nOnly the named target can take the offer up; this host acts again after its decline.';
  static override examples = [
    'agent fence',
    'ssh vps perdure invite | perdure fence --to - --accept-new',
    "agent fence --to vps.invite --expect 'lusab-babad-…'",
  ];
  static override statuses = [
    '3 some processes could not be looked at',
    '11 something writes',
    '14 may not act',
    '15 stale',
    '18 an alarm is open',
  ];
  static override flags = {
    to: Flags.string({ summary: 'an invite (file or -) or a host that this one knows', helpValue: 'INVITE' }),
    expect: Flags.string({ summary: 'the six words that the target shows', helpValue: 'WORDS' }),
    'accept-new': Flags.boolean({ summary: 'trust the way that the invite came, as over ssh' }),
    drain: Flags.string({ default: '10s', summary: 'how long guarded runs may go on', helpValue: 'TIME' }),
    'no-stop': Flags.boolean({ summary: "pass over the profile's stop commands: you have stopped the agent" }),
    'dry-run': Flags.boolean({ summary: 'only tell what it would meet' }),
    ...CUSTODIAN_FLAGS,
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const { flags } = input;
    const named = flags['to'] as string | undefined;
    const to = named === undefined ? undefined : await readHost(terminal, named);
    const options: FenceOptions = {
      to,
      expect: flags['expect'] as string | undefined,
      acceptNew: flags['accept-new'] === true,
      noStop: flags['no-stop'] === true,
      drain: duration(String(flags['drain']), 'agent fence --drain 30s'),
      custodian: (await openCustodian(ports, custodianSource(input))) ?? undefined,
    };
    if (flags['dry-run'] === true) {
      const plan = await planFence(ports, options);
      return { data: plan, text: fencePlanText(plan) };
    }
    const result = await fence(ports, options).catch(async (error: unknown) => {
      // On a terminal a stranger can be trusted by looking at its words.
      if (
        !isAgentError(error) ||
        error.code !== 'HOST_UNKNOWN' ||
        to === undefined ||
        !('invite' in to) ||
        !terminal.interactive ||
        named === '-'
      )
        throw error;
      if ((await terminal.ask(`${error.message}\ntrust it (yes/no)? `)).trim() !== 'yes') throw error;
      return fence(ports, { ...options, acceptNew: true });
    });
    const { session, ended, unseen, offeredTo, hooks, units } = result;
    const data = {
      seq: session.state.seq,
      epoch: session.state.epoch,
      offeredTo,
      manifest: session.state.manifest,
      ended: ended.length,
      unseen,
      hooks,
      units,
    };
    const notes = [
      ...hookNotes(hooks, 'stop'),
      ...units.disabled.map((unit) => `disabled and stopped here: ${unit}; agent resume enables it again`),
      ...units.left.map(
        (path) => `would start it again on this host: ${path}\nnext: ${disabling(path)}   # or: agent profile allow, before the fence`,
      ),
      ...(unseen === 0 ? [] : [`not looked at: ${count(unseen, 'process', 'processes')} of other accounts that might write here`]),
    ];
    return { status: unseen === 0 ? STATUS.done : STATUS.incomplete, data, text: fenceText(result), notes };
  }
}

function disabling(path: string): string {
  return path.endsWith('.plist') ? `launchctl unload -w ${word(path)}` : `systemctl --user disable --now ${word(basename(path))}`;
}
