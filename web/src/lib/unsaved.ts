/** The forms with unsaved changes: checked before a dialog closes and before the page is left. */
import { useSyncExternalStore } from 'react';
import { keepCsrf } from '../api/client.ts';

/** A form, registered while it is on the page. */
export interface OpenForm {
  /** The form's element, which shows to which dialog it belongs. */
  element: HTMLElement | null;
  /** Whether it has changes that would be lost. */
  dirty: boolean;
  /** Whether it is being sent, which cannot be undone. */
  pending: boolean;
  /** Whether it shows a draft kept from earlier. */
  restored: boolean;
  /** Discards the changes, and the kept draft. */
  discard: () => void;
}

const forms = new Set<OpenForm>();
const followers = new Set<() => void>();
let leaving = false;

function notify(): void {
  for (const follower of followers) follower();
}

function follow(follower: () => void): () => void {
  followers.add(follower);
  return () => followers.delete(follower);
}

/** Adds a form; returns a function that removes it. */
export function addForm(form: OpenForm): () => void {
  forms.add(form);
  notify();
  return () => {
    forms.delete(form);
    notify();
  };
}

/** Updates the state of a form. */
export function noteForm(form: OpenForm, now: Partial<OpenForm>): void {
  Object.assign(form, now);
  notify();
}

/** Returns the forms within an element, or all forms without one. */
export function formsIn(part: HTMLElement | null = null): OpenForm[] {
  return [...forms].filter(({ element }) => part === null || (element !== null && part.contains(element)));
}

/** Returns whether leaving the page would lose changes. */
export function anythingUnsaved(): boolean {
  return !leaving && formsIn().some(({ dirty }) => dirty);
}

/** Returns whether the page may be left without asking. */
export const isLeaving = (): boolean => leaving;

/** Lets the page be left without asking: the input is kept, or was already discarded. */
export function leaveFreely(): void {
  leaving = true;
}

/**
 * Reloads the page for another person who has signed in on the device. The returned promise never settles: until the
 * page is gone nothing may continue on it, and nothing that the former person wrote may be sent as the new person.
 */
export function loadAsTheirs(): Promise<never> {
  keepCsrf(null);
  leaveFreely();
  window.location.reload();
  return new Promise(() => {});
}

/** Returns the form within an element that shows a draft kept from earlier, if there is one. */
export function useRestored(part: HTMLElement | null): OpenForm | undefined {
  return useSyncExternalStore(follow, () => formsIn(part).find(({ restored }) => restored && part !== null));
}
