/** Made of the OpenAPI document by `npm run client`: change the declarations of the operations instead. */

import type { CallOptions } from './options.ts';

/** A person or a company tracked outside any deal. */
export type Contact = {
  id: string;
  type: 'person' | 'company';
  displayName: string;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  createdAt: string;
  updatedAt: string;
};

export type ContactCreate = {
  /** Whether this is a person or a company. */
  type: 'person' | 'company';
  /** The name to show. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  displayName: string;
  /** A mailbox of RFC 5321 in ASCII, whose domain has a dot in it or is an address of IPv4 or IPv6 in brackets. */
  email?: string | undefined;
  /** Not looked into, because numbers are written in many ways. Of any length that the body of the request holds, without null characters (U+0000) and halves of surrogate pairs. */
  phone?: string | undefined;
};

export type ContactList = {
  data: Contact[];
  pagination: Pagination;
};

export type ContactNotFoundError = ErrorEnvelope & {
  error: {
    code: 'contact_not_found';
    message: string;
  };
};

export type ErrorEnvelope = {
  error: {
    code:
      | 'invalid_token'
      | 'insufficient_scope'
      | 'rate_limited'
      | 'validation_error'
      | 'contact_not_found'
      | 'not_found'
      | 'method_not_allowed'
      | 'internal_error';
    /** A summary for people. */
    message: string;
    /** Structured context; what it holds is said with each response. */
    details?: Record<string, unknown> | undefined;
  };
};

/** One thing to change in a request. */
export type Fault = {
  /** Where it is. */
  in: 'body' | 'query' | 'header';
  /** The property, parts joined by dots, the parameter or the header; '' is the whole. */
  path: string;
  /** What to change. */
  message: string;
};

export type InsufficientScopeError = ErrorEnvelope & {
  error: {
    code: 'insufficient_scope';
    message: string;
    details: {
      /** The scope that the key lacks. */
      required_scope: string;
    };
  };
};

export type InternalError = ErrorEnvelope & {
  error: {
    code: 'internal_error';
    message: string;
    details: {
      /** That of X-Request-Id: name it when you report this. */
      request_id: string;
    };
  };
};

export type InvalidTokenError = ErrorEnvelope & {
  error: {
    code: 'invalid_token';
    message: string;
  };
};

export type Pagination = {
  hasMore: boolean;
  /** Opaque cursor for the next page; null on the last. */
  nextCursor?: string | null | undefined;
};

export type RateLimitedError = ErrorEnvelope & {
  error: {
    code: 'rate_limited';
    message: string;
    details: {
      /** Requests allowed in the window of a minute. */
      limit: number;
      /** Seconds until the window ends, as in Retry-After. */
      retry_after: number;
    };
  };
};

export type ValidationError = ErrorEnvelope & {
  error: {
    code: 'validation_error';
    message: string;
    details: {
      faults: Fault[];
    };
  };
};

/** What each operation takes and answers. */
export interface Operations {
  listContacts: {
    input: {
      /** nextCursor of an earlier answer. */
      cursor?: string | undefined;
      /** How many contacts a page holds. */
      limit?: number | undefined;
    };
    output: ContactList;
  };
  createContact: {
    input: {
      /** Makes a repeated request safe: within 24 hours the same key with the same body gets the first answer again. */
      idempotencyKey?: string | undefined;
      body: ContactCreate;
    };
    output: Contact;
  };
  getContact: {
    input: {
      /** The id of the contact. */
      contactId: string;
    };
    output: Contact;
  };
}

/** The operations that answer with pages. */
export type ListName = 'listContacts';

/** How each operation is sent; `headers` and `query` by the names of the input. */
export const operations = {
  listContacts: {
    method: 'GET',
    path: '/contacts',
    query: { cursor: 'cursor', limit: 'limit' },
    headers: {},
    body: null,
  },
  createContact: {
    method: 'POST',
    path: '/contacts',
    query: {},
    headers: { idempotencyKey: 'Idempotency-Key' },
    body: 'application/json',
  },
  getContact: { method: 'GET', path: '/contacts/{contactId}', query: {}, headers: {}, body: null },
} as const;

/** A method for each operation. */
export abstract class Calls {
  protected abstract call<Name extends keyof Operations>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>;

  /** List contacts. Newest first. Needs the scope contacts:read. Rows that are added meanwhile shift nothing. */
  listContacts(
    input: Operations['listContacts']['input'] = {},
    options?: CallOptions,
  ): Promise<Operations['listContacts']['output']> {
    return this.call('listContacts', input, options);
  }

  /** Create a contact. Needs the scope contacts:write. */
  createContact(
    input: Operations['createContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['createContact']['output']> {
    return this.call('createContact', input, options);
  }

  /** Get a contact. Needs the scope contacts:read. */
  getContact(
    input: Operations['getContact']['input'],
    options?: CallOptions,
  ): Promise<Operations['getContact']['output']> {
    return this.call('getContact', input, options);
  }
}
