/** UUIDs as text and as bytes. */

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether `text` is a UUID, in upper or lower case. */
export const isUuid = (text: string): boolean => uuid.test(text);

/** The UUID whose 16 bytes begin at `at`, in lower case. */
export const uuidAt = (bytes: Buffer, at: number): string =>
  bytes.toString('hex', at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** The 16 bytes of a UUID. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
