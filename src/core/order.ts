/** Orders by UTF-16 code unit, the order of every list that reaches disk or standard output. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
