/** The files that a person drops on a page, with those in folders. */

/** How many files are taken at a time: as many as a person may add to a deal in a day. */
export const mostDropped = 1000;

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

const fileOf = (entry: FileSystemEntry): Promise<File> =>
  new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));

async function* entriesIn(folder: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry> {
  const reader = folder.createReader();
  for (;;) {
    // Each call gives some of the entries, after the last none.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    yield* some;
  }
}

/**
 * Returns the files that were dropped, with those in folders and the folders in them, but without the hidden ones that
 * operating systems put there. At once, before the first wait, as the browser forgets what was dropped. Returns why
 * nothing is taken: a folder where `withFolders` is false, or more than {@link mostDropped} files.
 */
export async function filesIn(dropped: DataTransfer, withFolders: boolean): Promise<File[] | 'folder' | 'too many'> {
  const found = [...dropped.items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const folders = found.flatMap(({ entry }) => (entry && isFolder(entry) ? [entry] : []));
  if (folders.length > 0 && !withFolders) return 'folder';
  const files = found.flatMap(({ entry, file }) => (file && !(entry && isFolder(entry)) ? [file] : []));
  for (let folder = folders.shift(); folder; folder = folders.shift())
    for await (const entry of entriesIn(folder)) {
      if (isFolder(entry)) folders.push(entry);
      else if (!entry.name.startsWith('.')) files.push(await fileOf(entry));
      if (files.length > mostDropped) return 'too many';
    }
  return files.length > mostDropped ? 'too many' : files;
}
