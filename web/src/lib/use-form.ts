import { useEffect, useLayoutEffect, useRef, useState, type ChangeEvent, type FormEvent } from 'react';
import { ApiError } from '../api/client.ts';
import { unreadIn } from './decimal.ts';
import { dropDraft, keepDraft, readDraft } from './drafts.ts';
import { formatMoney } from './format.ts';
import { otherTime } from './local-time.ts';
import { addForm, noteForm, type OpenForm } from './unsaved.ts';

type Errors = Record<string, string>;

interface FormOptions<V, R> {
  initial: V;
  /**
   * The name under which the values are kept until they are sent: the form and its record, such as "answer/<id of the
   * question>". Null for passwords, codes and signatures: they are never kept, and closing the form asks no question.
   */
  draft: string | null;
  /**
   * Sends the values; `before` are the initial ones. An ApiError's message about a field appears at that field, any
   * other above the fields.
   */
  submit: (values: V, before: V) => Promise<R>;
  onDone?: (result: R, values: V) => unknown;
  /**
   * The values that can be chosen for a field, once they are known: a draft may hold the id of what is gone by now, and
   * the field then has its initial value.
   */
  offered?: { [N in keyof V]?: readonly V[N][] | undefined };
  /** Returns errors to show before anything is sent, by field. */
  check?: (values: V) => Errors;
  /** Fields for errors that name none, by error code: `{password_refused: 'password'}`. */
  about?: Record<string, keyof V & string>;
}

/** The names of the fields that hold text. */
type TextNames<V> = { [N in keyof V]: V[N] extends string ? N : never }[keyof V] & string;

export interface Form<V> {
  values: V;
  set: <N extends keyof V & string>(name: N, value: V[N]) => void;
  /** The error of each field, by its path in the request's body: "email", "payload.purchase_price". */
  errors: Errors;
  /** The error that is about no single field. */
  fault: string | null;
  pending: boolean;
  dirty: boolean;
  reset: (values?: V) => void;
  /** Sets a field's initial value once it is known, unless the person has already changed the field. */
  begin: <N extends keyof V & string>(name: N, value: V[N]) => void;
  /** For the form element. */
  props: { ref: (form: HTMLFormElement | null) => void; onSubmit: (event: FormEvent) => void; noValidate: true };
  /** For a text input: its name, value and onChange. */
  text: (name: TextNames<V>) => {
    name: string;
    value: string;
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
  };
  /** For a component whose onChange passes the value itself: Select, MoneyField, DateField. */
  field: <N extends keyof V & string>(name: N) => { name: N; value: V[N]; onChange: (value: V[N]) => void };
}

function sameValues(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the fields of `now` that differ from `before`. */
function changesOf<T extends object>(before: T, now: T): Partial<T> {
  const changed = Object.entries(now).filter(([name, value]) => !sameValues([value], [before[name as keyof T]]));
  return Object.fromEntries(changed) as Partial<T>;
}

/** Whether a stored draft has values for this form: only fields of the form, each of the right type. */
function isLike<V extends object>(initial: V, found: unknown): found is Partial<V> {
  if (typeof found !== 'object' || found === null) return false;
  const kinds = initial as Record<string, unknown>;
  return Object.entries(found).every(
    ([name, value]) =>
      Object.hasOwn(kinds, name) &&
      typeof value === typeof kinds[name] &&
      Array.isArray(value) === Array.isArray(kinds[name]),
  );
}

/** Returns errors for what was typed but is no amount or time, with an amount in the person's own number format. */
function unreadValues(values: object): Errors {
  const messageFor = (typed: string) =>
    /^\d+-\d\d-\d\dT/.test(typed) ? otherTime : `Enter an amount such as ${formatMoney('1250000.50', null)}.`;
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const typed = typeof value === 'string' ? unreadIn(value) : null;
      return typed === null ? [] : [[name, messageFor(typed)]];
    }),
  );
}

/** The state of a form: its values, their errors, and sending it. */
export function useForm<V extends object, R = unknown>({
  initial,
  draft,
  submit,
  onDone,
  offered = {},
  check,
  about = {},
}: FormOptions<V, R>): Form<V> {
  const [values, setValues] = useState(initial);
  const [beginning, setBeginning] = useState(initial);
  /** The fields of a restored draft whose values have not been looked for among those offered. */
  const [restored, setRestored] = useState<readonly (keyof V)[]>([]);
  const [errors, setErrors] = useState<Errors>({});
  const [fault, setFault] = useState<string | null>(null);
  const [pending, setPending] = useState(false);
  const [touched, setTouched] = useState(false);
  const dirty = touched && !sameValues(values, beginning);
  const known = restored.filter((name) => offered[name] !== undefined);
  if (known.length > 0) {
    setRestored(restored.filter((name) => !known.includes(name)));
    const gone = known.filter((name) => offered[name]?.includes(values[name]) === false);
    if (gone.length > 0) setValues({ ...values, ...Object.fromEntries(gone.map((name) => [name, beginning[name]])) });
  }
  const element = useRef<HTMLFormElement | null>(null);
  const refusals = useRef(0);
  const [refused, setRefused] = useState(0);

  useEffect(() => {
    if (refused === 0) return;
    const faulty = element.current?.querySelector<HTMLElement>('[aria-invalid="true"], fieldset[data-invalid]');
    if (faulty) faulty.focus();
    // The focus stays on the button; the error that is about no field is above the fields.
    else element.current?.querySelector('[role="alert"]')?.scrollIntoView({ block: 'nearest' });
  }, [refused]);

  const open = useRef<OpenForm>({ element: null, dirty: false, pending: false, restored: false, discard: () => {} });
  const reset = (next: V) => {
    setValues(next);
    setBeginning(next);
    setErrors({});
    setFault(null);
    setTouched(false);
    if (draft !== null) dropDraft(draft);
    // Immediately: closing the dialog may navigate to another address.
    noteForm(open.current, { dirty: false, restored: false });
  };

  useEffect(() => addForm(open.current), []);
  // In a layout effect, before any other event: a key pressed right after typing already checks for unsaved changes.
  useLayoutEffect(() => {
    noteForm(open.current, {
      dirty: dirty && draft !== null,
      pending,
      discard: () => reset(beginning),
      ...(!dirty && { restored: false }),
    });
  });

  useEffect(() => {
    if (draft === null) return;
    let gone = false;
    void readDraft(draft).then((found) => {
      if (gone || open.current.dirty || !isLike(initial, found)) return;
      setValues((present) => ({ ...present, ...found }));
      setRestored(Object.keys(found) as (keyof V)[]);
      setTouched(true);
      if (!sameValues({ ...initial, ...found }, initial)) noteForm(open.current, { dirty: true, restored: true });
    });
    return () => {
      gone = true;
    };
    // The draft is read once, when the form appears.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [draft]);

  useEffect(() => {
    if (draft === null || !touched) return;
    // Only the changed values: others may change the remaining ones before the draft is read again.
    if (dirty) keepDraft(draft, changesOf(beginning, values));
    else dropDraft(draft);
  }, [draft, touched, dirty, beginning, values]);

  const refuse = (found: Errors, whole: string | null) => {
    refusals.current += 1;
    setErrors(found);
    setFault(whole);
    setRefused(refusals.current);
  };

  const set: Form<V>['set'] = (name, value) => {
    // Input during submission would be neither sent nor kept.
    if (pending) return;
    setValues((present) => ({ ...present, [name]: value }));
    setRestored((names) => names.filter((one) => one !== name));
    setErrors(({ [name]: _mended, ...rest }) => rest);
    setTouched(true);
  };

  const send = async () => {
    const found = { ...check?.(values), ...unreadValues(values) };
    if (Object.keys(found).length > 0) {
      refuse(found, null);
      return;
    }
    setPending(true);
    setErrors({});
    setFault(null);
    try {
      const result = await submit(values, beginning);
      setTouched(false);
      setBeginning(values);
      if (draft !== null) dropDraft(draft);
      // Immediately: `onDone` may navigate to another page.
      noteForm(open.current, { dirty: false, restored: false });
      await onDone?.(result, values);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const field = about[error.code];
      const details = field === undefined ? error.details : [{ path: field, message: error.message }];
      const byPath = Object.fromEntries(details.map(({ path, message }) => [path, message]));
      const shown = Object.keys(byPath).some((path) => element.current?.querySelector(`[name="${CSS.escape(path)}"]`));
      refuse(byPath, shown ? null : error.message);
    } finally {
      setPending(false);
    }
  };

  return {
    values,
    set,
    errors,
    fault,
    pending,
    dirty,
    reset: (next = initial) => reset(next),
    begin: (name, value) => {
      setBeginning((before) => ({ ...before, [name]: value }));
      setValues((present) =>
        sameValues([present[name]], [beginning[name]]) ? { ...present, [name]: value } : present,
      );
    },
    props: {
      noValidate: true,
      ref: (form) => {
        element.current = form;
        open.current.element = form;
      },
      onSubmit: (event) => {
        event.preventDefault();
        event.stopPropagation();
        if (!pending) void send();
      },
    },
    text: (name) => ({
      name,
      value: values[name] as string,
      onChange: (event) => set(name, event.target.value as V[typeof name]),
    }),
    field: (name) => ({ name, value: values[name], onChange: (value) => set(name, value) }),
  };
}

/** Returns the value that a text field sends: null when it is empty. */
export const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

/**
 * Sends only the fields of a record that a person has changed, so that concurrent changes of other fields are kept.
 * Fields that only make sense `together` are sent together.
 */
export async function sendChanges<I extends object>(
  before: I,
  now: I,
  send: (changes: Partial<I>) => Promise<unknown>,
  together: readonly (keyof I)[] = [],
): Promise<void> {
  const changes = changesOf(before, now);
  if (Object.keys(changes).length === 0) return;
  if (together.some((name) => name in changes)) for (const name of together) changes[name] = now[name];
  await send(changes);
}

/** Returns errors for empty fields: `required(values, {email: 'Type your e-mail address.'})`. */
export function required<V extends object>(values: V, messages: { [N in keyof V]?: string }): Errors {
  const missing = Object.entries<string | undefined>(messages).filter(([name]) => {
    const value: unknown = values[name as keyof V];
    return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
  });
  return Object.fromEntries(missing.map(([name, message]) => [name, message ?? '']));
}
