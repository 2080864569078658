import { createHash } from 'node:crypto';

const CONSONANTS = 'bdfghjklmnprstvz';
const VOWELS = 'aiou';

/**
 * Six pronounceable words of five letters that stand for 96 bits of SHA-256 of the text, for a person to compare aloud.
 * Each word is 16 bits as consonant, vowel, consonant, vowel, consonant.
 */
export function sixWords(text: string): string {
  const hash = createHash('sha256').update(text).digest();
  return Array.from({ length: 6 }, (_, at) => word(hash.readUInt16BE(at * 2))).join('-');
}

function word(bits: number): string {
  const at = (table: string, shift: number): string => table.charAt((bits >> shift) & (table.length - 1));
  return at(CONSONANTS, 12) + at(VOWELS, 10) + at(CONSONANTS, 6) + at(VOWELS, 4) + at(CONSONANTS, 0);
}
