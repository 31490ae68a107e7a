// Bytes travel as base64 strings of little-endian arrays; every browser's typed arrays are little-endian too.

// Since 2025, and many times faster; the types of the language do not know it yet.
const { fromBase64 } = Uint8Array as { fromBase64?: (base64: string) => Uint8Array<ArrayBuffer> };

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  if (fromBase64) return fromBase64.call(Uint8Array, base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function shortsOf(base64: string): Uint16Array {
  const bytes = bytesOf(base64);
  return new Uint16Array(bytes.buffer, 0, bytes.length >> 1);
}

export function wordsOf(base64: string): Uint32Array {
  const bytes = bytesOf(base64);
  return new Uint32Array(bytes.buffer, 0, bytes.length >> 2);
}
