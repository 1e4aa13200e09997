/**
 * A request that does not get as far as the protocol: an HTTP status with a JSON-RPC error that says what to change. A 401
 * is answered to the OAuth client that sent it, in OAuth's words.
 */

/** The request cannot be answered. Our own codes are the HTTP status; those of JSON-RPC are kept for what they mean. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The code of OAuth that takes the place of the JSON-RPC error. */
  readonly oauth: 'invalid_token' | undefined;
  constructor(
    status: number,
    message: string,
    {
      code = status,
      headers = {},
      oauth,
    }: { code?: number; headers?: Record<string, string>; oauth?: 'invalid_token' } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.oauth = oauth;
  }
}

/** The answer, to the request with this JSON-RPC id where it is known. */
export function answerFault({ status, code, message, headers, oauth }: Fault, id: string | number | null): Response {
  if (oauth !== undefined) return Response.json({ error: oauth, error_description: message }, { status, headers });
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status, headers });
}
