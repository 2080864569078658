import { spawn } from 'node:child_process';

/** What became of asking ssh-keygen for a signature. */
export interface SshSignature {
  readonly status: number | null;
  /** The armored signature, empty where there is none. */
  readonly armored: string;
  /** The first line of what it said. */
  readonly said: string;
}

/**
 * Signs a text by `ssh-keygen -Y sign`: with a private key file, or with a public one whose private half an ssh-agent has.
 * ssh-keygen may ask for a passphrase on the terminal. @see ssh-keygen(1)
 */
export async function sshSign(
  text: string,
  { keyFile, namespace }: { readonly keyFile: string; readonly namespace: string },
): Promise<SshSignature> {
  return new Promise((resolve) => {
    const child = spawn('ssh-keygen', ['-Y', 'sign', '-n', namespace, '-f', keyFile], { stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (bytes: Buffer) => out.push(bytes));
    child.stderr.on('data', (bytes: Buffer) => err.push(bytes));
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => {
      resolve({ status: null, armored: '', said: error.message });
    });
    child.on('close', (status) => {
      const lines = Buffer.concat(err)
        .toString('utf8')
        .replace(/\r/g, '')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('Signing '));
      resolve({ status, armored: Buffer.concat(out).toString('utf8'), said: lines[0] ?? '' });
    });
    child.stdin.end(text);
  });
}
