/** Names that can be spoken of line by line. A table of another name is passed over: it could pass for a command of the program. */
export function isPlain(column: string): string {
  return `instr(${column}, char(0)) = 0 AND instr(${column}, char(10)) = 0 AND instr(${column}, char(13)) = 0`;
}

/** Whether a column, as text or as bytes, holds one of some texts. */
export function holds(column: string, texts: readonly string[]): string {
  const bytes = texts.map((one) => `instr(CAST(${column} AS BLOB), x'${Buffer.from(one).toString('hex')}') > 0`);
  return bytes.length === 0 ? '0' : bytes.join(' OR ');
}

/** A text as SQL. */
export function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** A text as SQL in a database whose encoding is UTF-8, with no character of it as it is. */
export function literal(value: string): string {
  return `CAST(x'${Buffer.from(value).toString('hex')}' AS TEXT)`;
}

/** A name of a table or column as SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
