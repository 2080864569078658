import { digestOf } from '../core/digest.ts';
import { parseRelPath } from '../core/name.ts';
import type { Claims } from './claims.ts';
import { referenceNode, type Form, type Reference } from './form.ts';
import { stringOf, treeText, type Node } from './json-tree.ts';
import { OWN_LAYOUT, laidOut, oneLine, quoted } from './notation.ts';

interface Wanted {
  readonly under: string;
  readonly name: string;
  readonly ending?: string;
  /** Is told the path that it got. */
  readonly said?: (path: string) => void;
}

/** Where a value goes, and how deep it stands in its document. */
interface Placed {
  readonly under: string;
  readonly name: string;
  readonly depth: number;
}

/** Collects the files of a document that is taken apart, and how each was written where that is not as the rest is. */
export class Parts {
  readonly claims: Claims;
  readonly files = new Map<string, string>();
  readonly raw = new Map<string, string>();
  readonly logs = new Map<string, string>();
  readonly kept: string[] = [];
  readonly #form: Form;
  readonly #members = new Map<string, Map<string, string>>();

  constructor(form: Form, claims: Claims) {
    this.#form = form;
    this.claims = claims;
  }

  /** A text that goes with the element that it is in. */
  text(value: Node, wanted: Wanted): Node {
    return this.#text(value, { ...wanted, as: 'text' });
  }

  /** A text that goes with the member that it is the value of. */
  entry(value: Node, wanted: Wanted): Node {
    return this.#text(value, { ...wanted, as: 'entry' });
  }

  /** Elements of a list, one a line. */
  lines(value: Node, { under, name, depth }: Placed): Node {
    if (value.kind !== 'list') return value;
    const path = this.claims.file(under, { name, ending: '.jsonl' });
    const text = value.items.map((item) => `${oneLine(item.value)}\n`).join('');
    this.files.set(path, text);
    this.logs.set(path, digestOf(text));
    this.#note(path, { value, depth });
    return this.#reference({ as: 'lines', path });
  }

  /** A list or object that holds something. */
  json(value: Node, { under, name, depth }: Placed): Node {
    const isEmpty = value.kind === 'list' ? value.items.length === 0 : value.kind !== 'map' || value.members.length === 0;
    if (isEmpty) return value;
    const path = this.claims.file(under, { name, ending: '.json' });
    this.files.set(path, `${laidOut(value, OWN_LAYOUT)}\n`);
    this.#note(path, { value, depth });
    return this.#reference({ as: 'json', path });
  }

  /** A text or null that stands in a JSON file with others. */
  member(value: Node, { path, name }: { readonly path: string; readonly name: string }): Node {
    const text = stringOf(value);
    const isNull = value.kind === 'other' && value.raw === 'null';
    if (!isNull && text?.isWellFormed() !== true) return value;
    const members = this.#members.get(path) ?? new Map<string, string>();
    members.set(name, text === undefined ? 'null' : quoted(text, 'utf8'));
    this.#members.set(path, members);
    if (text !== undefined && value.kind === 'string' && quoted(text, this.#form.escapes) !== value.raw)
      this.raw.set(`${path}#${name}`, value.raw);
    return this.#reference({ as: 'member', path: parseRelPath(path), member: name });
  }

  /** Writes the files whose members were collected. */
  finish(): void {
    for (const [path, members] of this.#members) {
      const order = ['name', 'description', 'system'].flatMap((name) => {
        const value = members.get(name);
        return value === undefined ? [] : [`  ${JSON.stringify(name)}: ${value}`];
      });
      this.files.set(path, `{\n${order.join(',\n')}\n}\n`);
    }
  }

  #text(value: Node, { under, name, ending = '', said, as }: Wanted & { readonly as: 'text' | 'entry' }): Node {
    const text = stringOf(value);
    if (text === undefined || value.kind !== 'string') return value;
    // Half of a pair of surrogates is in no UTF-8.
    if (!text.isWellFormed()) {
      this.kept.push(`${under}/${name}${ending}`.toWellFormed());
      return value;
    }
    const path = this.claims.file(under, { name, ending });
    said?.(path);
    this.files.set(path, text);
    if (quoted(text, this.#form.escapes) !== value.raw) this.raw.set(path, value.raw);
    return this.#reference({ as, path });
  }

  /** Keeps how a value was set where the layout of the document would set it otherwise. */
  #note(path: string, { value, depth }: { readonly value: Node; readonly depth: number }): void {
    const raw = laidOut(value, this.#form.layout, { depth });
    const was = treeText(value);
    if (raw !== was) this.raw.set(path, was);
  }

  #reference(reference: Reference): Node {
    return referenceNode(reference, this.#form.marker);
  }
}
