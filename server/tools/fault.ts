/** A request that does not get as far as the protocol: an HTTP status with a JSON-RPC error that says what to change. */

/** The request cannot be answered. Our own codes are the HTTP status; those of JSON-RPC are kept for what they mean. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    message: string,
    { code = status, headers = {} }: { code?: number; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The answer, to the request with this JSON-RPC id where it is known. */
export function answerFault({ status, code, message, headers }: Fault, id: string | number | null): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status, headers });
}
