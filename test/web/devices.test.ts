/** What the pages call a browser, by the User-Agent that it sends. */

import { expect, test } from 'vitest';
import { deviceOf } from '../../web/src/routes/settings/security/device.ts';

const iPhone = (browser: string) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ${browser} Safari/604.1`;

test.each([
  [iPhone('Version/18.5 Mobile/15E148'), 'Safari on iPhone'],
  [iPhone('CriOS/142.0.7444.60 Mobile/15E148'), 'Chrome on iPhone'],
  [iPhone('FxiOS/144.0 Mobile/15E148'), 'Firefox on iPhone'],
  [iPhone('EdgiOS/142.0.3595.53 Version/18.0 Mobile/15E148'), 'Edge on iPhone'],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 EdgA/142.0.0.0',
    'Edge on Android',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0', 'Firefox on Windows'],
  ['curl/8.14.1', 'curl'],
  [null, 'Unknown browser'],
])('User-Agent %s is shown as %s', (userAgent, name) => expect(deviceOf(userAgent)).toBe(name));
