/** A word of a command line for sh, as it can be pasted: as it is where it is plain, else quoted. */
export function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
