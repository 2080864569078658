/** More of them in one name, and a name could take minutes to be compared. */
const MOST_STARS = 3;

/**
 * Compiles an anchored glob over a whole relative path: `*` and `?` stay within one name, `**` crosses names, `{a,b}` is
 * either, `[ab]` a set. A pattern that ends in `/` means a directory and all below it.
 */
export function compileGlob(pattern: string): RegExp {
  if (mostStars(pattern) > MOST_STARS) throw new Error(`more than ${String(MOST_STARS)} stars in one name`);
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern;
  // A name may hold a line break.
  return new RegExp(`^${translate(whole)}$`, 'us');
}

function translate(pattern: string): string {
  let out = '';
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at);
    const brace = /^\{([^{}]*)\}/.exec(rest);
    const set = /^\[([^\]/]+)\]/.exec(rest);
    if (rest.startsWith('**/')) {
      out += '(?:[^/]+/)*';
      at += 3;
    } else if (rest.startsWith('/**') && rest.length === 3) {
      out += '(?:/.*)?';
      at += 3;
    } else if (rest.startsWith('**')) {
      out += '.*';
      at += 2;
    } else if (brace !== null) {
      out += `(?:${(brace[1] ?? '').split(',').map(translate).join('|')})`;
      at += brace[0].length;
    } else if (set !== null) {
      out += `[${(set[1] ?? '').replace(/[\\^]/g, '\\$&')}]`;
      at += set[0].length;
    } else {
      const char = rest.charAt(0);
      out += char === '*' ? '[^/]*' : char === '?' ? '[^/]' : char.replace(/[.+^$()|[\]{}\\/]/g, '\\$&');
      at += 1;
    }
  }
  return out;
}

/** The stars of the name that has the most of them, whatever alternatives are taken. */
function mostStars(pattern: string): number {
  const stars = (text: string): number => text.match(/(?<!\*)\*(?!\*)/g)?.length ?? 0;
  const worst = pattern.replace(/\{([^{}]*)\}/g, (_, list: string) =>
    list.split(',').reduce((most, one) => (stars(one) > stars(most) ? one : most)),
  );
  return Math.max(...worst.split('/').map(stars));
}
