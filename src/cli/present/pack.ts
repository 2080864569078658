import { type PackResult } from '../../actions/pack.ts';
import { count, showBytes } from '../text.ts';

/** Says what came of `agent pack`, for a person. */
export function packLine({ session, output, bytes, packs, leftOut, secretsFor }: PackResult): string {
  const rest = [
    `${session.name} up to record ${String(session.chain.state.seq)}`,
    count(packs, 'pack'),
    `${showBytes(bytes)} written`,
    ...(leftOut === 0 ? [] : [`${String(leftOut)} packs left out that the target has`]),
    ...(secretsFor === null ? [] : [`secrets sealed to ${secretsFor}`]),
  ];
  return `${output === '-' ? 'bundle' : output}: ${rest.join(', ')}`;
}

/** Says what came of `agent pack`, for a person. */
export function packNotes({ medium, poorFileSystem }: PackResult): readonly string[] {
  return [
    ...(medium === null
      ? []
      : [
          `${count(medium.files, 'file')} read back as written${medium.direct ? ', from the medium itself' : '; this file system reads only through the cache, which was asked to forget them first'}`,
        ]),
    ...(poorFileSystem === null
      ? []
      : [`${poorFileSystem} keeps neither owner nor modes: whoever has the medium has the bundle, which is sealed`]),
  ];
}
