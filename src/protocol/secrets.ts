/** What must not be shown, in history, logs or the UI (I11): fields by their names, keys and tokens by their looks. */

const FIELD =
  /pass(word|wd|phrase)?$|^pwd$|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|authorization|bearer|credential|cookie|^cv[vc]2?$/i;
const HIDDEN = '[hidden]';
const REDACTED = '[redacted]';

/** True for the name of a field whose value is not for people's eyes. */
export function isSecretField(name: string): boolean {
  return FIELD.test(name);
}

/** Compact JSON with the values of telling fields hidden, and of keys and tokens wherever they stand. */
export function safeJson(value: unknown): string {
  const json = JSON.stringify(value, (key, entry: unknown) => (isSecretField(key) ? HIDDEN : entry));
  return redact(json ?? 'nothing');
}

/** The like for text that was to be JSON and is not: what follows a telling name is left out. */
export function safeExcerpt(text: string): string {
  const name = /["']?([\w-]+)["']?\s*[:=]/g;
  for (let match = name.exec(text); match; match = name.exec(text)) {
    if (isSecretField(match[1] ?? '')) return `${text.slice(0, name.lastIndex)} ${HIDDEN}`;
  }
  return redact(text);
}

/** A shorter one is no secret, and removing it would spoil every text. */
const MIN_SECRET = 8;

/**
 * Removes what looks like a key or a bearer token from a text, and whatever is in `secrets`: a key may have any
 * form, and servers like to repeat it.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) if (secret.length >= MIN_SECRET) safe = safe.replaceAll(secret, REDACTED);
  return safe
    .replace(/\b(sk|rk|pk|sess)-[A-Za-z0-9_*-]{6,}/g, REDACTED)
    .replace(/\bBearer\s+[^\s"'\\]+/gi, `Bearer ${REDACTED}`);
}
