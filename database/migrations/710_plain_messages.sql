-- compatible: the functions do what they did; only the sentences of their refusals change.

do $plain$
declare
  sentence record;
  definition text;
  found boolean;
begin
  for sentence in select * from (values
    ('This invitation is used up or too old. Ask for a new one.',
     'This invitation was already used or has expired. Ask for a new one.'),
    ('This invitation was taken back. Ask for a new one.',
     'This invitation was withdrawn. Ask for a new one.'),
    ('This API key has 20 webhooks: take one out before you add another.',
     'This API key has 20 webhooks: remove one before you add another.'),
    ('The brokerage has 200 webhooks that are on, which is the most: turn one off or take one out first.',
     'The brokerage has 200 webhooks that are on, which is the limit: turn one off or remove one first.'),
    ('The brokerage has 200 API keys, which is the most: revoke one that is no longer used.',
     'The brokerage has 200 API keys, which is the limit: revoke one that is no longer used.'),
    ('You have 50 clients, which is the most: delete one that you no longer use.',
     'You have 50 clients, which is the limit: delete one that you no longer use.'),
    ('You have changed your name 20 times today, which is the most: change it again after %s.',
     'You have changed your name 20 times today, which is the limit: change it again after %s.'),
    ('Whom they would advise is no longer on this deal: invite that person first.',
     'The person they would advise is no longer on this deal: invite that person first.'),
    ('Only a broker of the deal changes what a condition says, whose it is or when it is due.',
     'Only a broker of the deal can change the text, owner or due date of a condition.'),
    ('Only a broker of the deal waives a condition, or takes that back.',
     'Only a broker of the deal can waive a condition or undo that.'),
    ('Only a broker of the deal words what the asker is told.',
     'Only a broker of the deal can write the response to the person who asked.'),
    ('Only a broker of the deal releases, rejects or distributes a question.',
     'Only a broker of the deal can release, reject or distribute a question.'),
    ('Only a seller of the deal answers a question.',
     'Only a seller of the deal can answer a question.'),
    ('No seller is on this deal to answer: invite one, who has to accept.',
     'No seller is on this deal to answer: invite one, who must accept first.'),
    ('Write what the asker is to read.',
     'Write a response to the person who asked.'),
    ('Only active buyers, advisors and viewers of the deal are let in; brokers and sellers are in already.',
     'Only active buyers, advisors and viewers of the deal can be added; brokers and sellers already have access.'),
    ('Sign in to choose what you hear of.',
     'Sign in to choose your notifications.'),
    ('What concerns the security of your account cannot be turned off: have it in the application only.',
     'Notifications about the security of your account cannot be turned off. You can choose to get them only in the application.'),
    ('%s people have been on this deal, which is the most: go on with a new deal.',
     '%s people have been on this deal, which is the limit: continue with a new deal.'),
    ('A deal has room for %s people at once: remove somebody first.',
     'A deal can have at most %s people at a time: remove somebody first.'),
    ('A deal has room for %s %s.',
     'A deal can have at most %s %s.'),
    ('A finding has room for 500 comments: record another one.',
     'A finding can have at most 500 comments: record another finding.'),
    ('The sandbox has no more room: at most %s %s%s. Reset it.',
     'The sandbox is full: at most %s %s%s. Reset it.'),
    ('Something is missing for a closing: look at it, and confirm that the deal is closed all the same.',
     'Something is missing for the closing: review it, and confirm that the deal is closed anyway.'),
    ('The old token may go on working for 0 to 30 days.',
     'The old token can keep working for 0 to 30 days.'),
    ('This buyer has an NDA that waits or is active: revoke it first.',
     'This buyer has a pending or active NDA: revoke it first.'),
    ('The deal is %s and takes no more questions.',
     'The deal is %s and no longer accepts questions.'),
    ('The deal is %s and takes no offers.',
     'The deal is %s and does not accept offers.'),
    ('The deal is closed and takes no more changes.',
     'The deal is closed and can no longer be changed.'),
    ('Ten test events wait already: look at why they are not taken.',
     'Ten test events are already waiting: find out why they are not accepted.'),
    ('10,000 deliveries wait already: let them be taken first.',
     '10,000 deliveries are already waiting: wait until they are accepted.'),
    ('There is nothing here, or not for you.',
     'It does not exist, or you do not have access to it.'),
    ('An offer takes at most 32 kB: put what is longer into a document.',
     'An offer can have at most 32 KB: put longer text in a document.'),
    ('The protection of this account was changed 20 times today: try again after %s.',
     'The sign-in methods of this account were changed 20 times today: try again after %s.'),
    ('The deletion has begun and cannot be taken back.',
     'The deletion has begun and can no longer be canceled.'),
    ('At most %s %s a %s a day on a deal: go on after %%s.',
     'At most %s %s a %s a day on a deal: continue after %%s.'),
    ('This e-mail is being sent at this moment: look again in a few minutes.',
     'This e-mail is being sent right now: check again in a few minutes.'),
    ('What the brokerage has must be kept for now because of a legal hold: whoever runs this service can tell you more.',
     'The data of the brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.'),
    ('Your data must be kept for now because of a legal hold: whoever runs this service can tell you more.',
     'Your data must be kept for now because of a legal hold: the operator of this service can tell you more.'),
    ('Nobody can be written to at this address.',
     'No e-mail can be sent to this address.'),
    ('This client was not given permission to write: connect it again and leave writing ticked.',
     'This client was not given permission to write: connect it again and leave writing checked.'),
    ('This grant was refreshed 1,000 times today, which is the most: use its access token until that expires, and refresh again after %s.',
     'This grant was refreshed 1,000 times today, which is the limit: use its access token until that expires, and refresh again after %s.'),
    ('The deal is withdrawn: nobody has to do anything about this any more.',
     'The deal is withdrawn: nobody has to do anything about this anymore.'),
    ('Type your full name to sign.',
     'Enter your full name to sign.')
  ) s (was, becomes)
  loop
    found := false;
    for definition in
      select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = 'app' and p.prokind = 'f' and strpos(p.prosrc, '''' || sentence.was || '''') > 0
    loop
      execute replace(definition, '''' || sentence.was || '''', '''' || sentence.becomes || '''');
      found := true;
    end loop;
    if not found then
      raise exception 'no function says: %', sentence.was;
    end if;
  end loop;
end
$plain$;
