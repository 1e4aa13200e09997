/** From where a change was asked for, for the audit trail. */
export interface Origin {
  readonly address: string | null;
  readonly requestId: string | null;
}
