/** How parts of an error look on a terminal. */
export interface Style {
  readonly code: (text: string) => string;
  readonly next: (text: string) => string;
}

const plain = (text: string): string => text;

/** Colours for a terminal, none elsewhere. */
export async function styleFor({ errIsTerminal }: { readonly errIsTerminal: boolean }): Promise<Style> {
  if (!errIsTerminal) return { code: plain, next: plain };
  const { chalkStderr } = await import('chalk');
  return { code: (text) => chalkStderr.red.bold(text), next: (text) => chalkStderr.dim(text) };
}
