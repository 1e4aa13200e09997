/**
 * A separate process that delivers due mails, to be killed while it does. Its settings are the first argument, as JSON.
 */

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
