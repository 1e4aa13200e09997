/** Which forms hold something that is not saved: asked before a dialog closes and before the page is left. */
import { useSyncExternalStore } from 'react';
import { keepCsrf } from '../api/client.ts';

/** A form, as long as it is on the page. */
export interface OpenForm {
  /** Where it stands: shows which dialog it belongs to. */
  element: HTMLElement | null;
  /** Whether something in it would be lost. */
  dirty: boolean;
  /** Whether it is being sent: what is under way cannot be taken back. */
  pending: boolean;
  /** Whether it shows what was kept from an earlier time. */
  restored: boolean;
  /** Forgets what was filled in, also where it was kept. */
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

/** Adds a form; returns how to take it away. */
export function addForm(form: OpenForm): () => void {
  forms.add(form);
  notify();
  return () => {
    forms.delete(form);
    notify();
  };
}

/** Changes what is known of a form. */
export function noteForm(form: OpenForm, now: Partial<OpenForm>): void {
  Object.assign(form, now);
  notify();
}

/** The forms in a part of the page; all of them without one. */
export function formsIn(part: HTMLElement | null = null): OpenForm[] {
  return [...forms].filter(({ element }) => part === null || (element !== null && part.contains(element)));
}

/** Whether leaving the page would lose something. */
export function anythingUnsaved(): boolean {
  return !leaving && formsIn().some(({ dirty }) => dirty);
}

/** Whether the page is to go without asking. */
export const isLeaving = (): boolean => leaving;

/** Lets the page go without asking: what was typed is kept, or was given up already. */
export function leaveFreely(): void {
  leaving = true;
}

/**
 * Loads the page anew as that of another person who has signed in on the device. Nothing waits for an answer: until the page is
 * gone nothing of it is to go on, nor is anything that the former person wrote to be sent as theirs.
 */
export function loadAsTheirs(): Promise<never> {
  keepCsrf(null);
  leaveFreely();
  window.location.reload();
  return new Promise(() => {});
}

/** The form in a part of the page that shows what was kept from an earlier time, if there is one. */
export function useRestored(part: HTMLElement | null): OpenForm | undefined {
  return useSyncExternalStore(follow, () => formsIn(part).find(({ restored }) => restored && part !== null));
}
