/** Whether a host, as in a URL or as a directory of sockets, is this machine. */
export const isHere = (host: string): boolean =>
  ['localhost', '::1', '[::1]'].includes(host) || host.startsWith('127.') || host.startsWith('/');
