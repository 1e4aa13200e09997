-- compatible: nodes of the release before do not know these kinds of notifications: the list tells of them in general words, and their mails wait for a newer node.
--
-- A buyer whose offer stands accepted was told that an offer was declined when a broker declined a change to its terms.

INSERT INTO app.notification_kinds VALUES
  ('change_proposed', 116, 'at_once', false), ('change_accepted', 117, 'at_once', false), ('change_declined', 118, 'at_once', false);
-- As each person has chosen for what these were told as until now.
INSERT INTO vault.notification_choices (user_id, kind, delivery)
  SELECT c.user_id, k.kind, c.delivery
  FROM (VALUES ('offer_revised', 'change_proposed'), ('offer_accepted', 'change_accepted'), ('offer_declined', 'change_declined')) k (told_as, kind)
  JOIN vault.notification_choices c ON c.kind = k.told_as;

