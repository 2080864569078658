/** Reads TOML; undefined where it is none. */
export async function readToml(text: string): Promise<unknown> {
  const { parse } = await import('smol-toml');
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
