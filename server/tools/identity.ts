/** Who the server says it is. */

import about from '../../package.json' with { type: 'json' };

/** Its name and version. */
export const identity = { name: 'dealkeep', title: 'Dealkeep', version: about.version };

/** Its picture, for hosts that draw one; `baseUrl` is our public origin. */
export const iconsOf = (baseUrl: string) => [{ src: `${baseUrl}/icon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }];
