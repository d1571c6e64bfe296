// The exact text of a message's `id`: JSON.parse would turn 1.0 into 1 and round large integers.

/** The text of one top-level member of a JSON object, or undefined. The text must be valid JSON. */
export function rawMember(text, wanted) {
  let depth = 0;
  let at = 0;
  while (at < text.length) {
    const c = text[at];
    if (c === '"') {
      const end = stringEnd(text, at);
      const colon = skipSpace(text, end);
      if (depth === 1 && text[colon] === ':' && JSON.parse(text.slice(at, end)) === wanted) {
        const start = skipSpace(text, colon + 1);
        return text.slice(start, valueEnd(text, start));
      }
      at = end;
      continue;
    }
    if (c === '{' || c === '[') depth += 1;
    if (c === '}' || c === ']') depth -= 1;
    at += 1;
  }
  return undefined;
}

function valueEnd(text, start) {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const c = text[at];
    if (c === '"') {
      at = stringEnd(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (depth === 0 && (c === ',' || c === '}' || c === ']' || /\s/.test(c))) return at;
    if (c === '{' || c === '[') depth += 1;
    if (c === '}' || c === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
    at += 1;
  }
  return at;
}

function stringEnd(text, start) {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipSpace(text, start) {
  let at = start;
  while (at < text.length && /\s/.test(text[at])) at += 1;
  return at;
}
