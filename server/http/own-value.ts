/** What a record of ours holds under a name that came from outside; nothing of what every object inherits, such as `constructor`. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
