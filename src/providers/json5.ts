/** Reads JSON with comments and trailing commas, as configuration files have them; undefined where it is none. */
export async function readJson5(text: string): Promise<unknown> {
  const { default: json5 } = await import('json5');
  try {
    return json5.parse<unknown>(text);
  } catch {
    return undefined;
  }
}
