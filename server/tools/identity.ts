/** The server's identity. */

import about from '../../package.json' with { type: 'json' };

/** The server's name, title and version. */
export const identity = { name: 'dealkeep', title: 'Dealkeep', version: about.version };

/**
 * The server's icon, for hosts that show one; `baseUrl` is our public origin. PNG first: hosts need not show SVG.
 */
export const iconsOf = (baseUrl: string) => [
  { src: `${baseUrl}/icon.png`, mimeType: 'image/png', sizes: ['192x192'] },
  { src: `${baseUrl}/icon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] },
];
