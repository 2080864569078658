/** Builds and reads the length-prefixed fields of the SSH wire encoding. @see RFC 4251 section 5 */
export function sshString(bytes: Uint8Array | string): Buffer {
  const body = Buffer.from(bytes as Uint8Array);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** A number of four bytes, the highest first. */
export function sshUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Reads fields one after the other; every method returns null past the end, so that a caller fails once. */
export class WireReader {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer | null {
    if (this.#at + length > this.#bytes.length) return null;
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return part;
  }

  uint32(): number | null {
    return this.take(4)?.readUInt32BE(0) ?? null;
  }

  string(): Buffer | null {
    const length = this.uint32();
    return length === null ? null : this.take(length);
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }
}
