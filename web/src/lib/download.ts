/**
 * Has the browser save what is at an address, `filename` where the answer names none. When the server refuses it, the browser says so among
 * its downloads, and the page stays.
 */
export function download(url: string, filename = ''): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
}

/** Has the browser save a file that is here already. */
export function save(file: File): void {
  const url = URL.createObjectURL(file);
  download(url, file.name);
  URL.revokeObjectURL(url);
}
