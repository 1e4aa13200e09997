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
