/** A process of its own that delivers what is due, to be killed over it. What it needs is the first argument, as JSON. */

import { readConfig } from '../../server/config/config.ts';
import { createLog } from '../../server/lib/log.ts';
import { openDelivery } from '../../server/mail/delivery.ts';
import { openServices } from '../../server/services.ts';

const { connection, smtpUrl, now } = JSON.parse(process.argv[2] ?? '{}') as {
  connection: object;
  smtpUrl: string;
  now: string;
};
const config = readConfig({ SMTP_URL: smtpUrl, BASE_URL: 'https://deals.example.com', LOG_LEVEL: 'silent' });
const { services } = await openServices(config, connection, { log: createLog('silent'), clock: () => new Date(now) });
await openDelivery(services).deliverDue();
