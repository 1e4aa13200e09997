import { useNdaActions } from '../../../api/ndas.ts';
import { useMe } from '../../../api/me.ts';
import type { Nda } from '../../../api/shapes.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Checkbox } from '../../../components/checkbox.tsx';
import { Field } from '../../../components/field.tsx';
import { FormFields } from '../../../components/form-fields.tsx';
import { Input } from '../../../components/input.tsx';
import { Time } from '../../../components/time.tsx';
import { toast } from '../../../components/toast.tsx';
import { lengths } from '../../../lib/lengths.ts';
import { required, useForm } from '../../../lib/use-form.ts';
import { Terms } from './terms.tsx';

interface SignFormProps {
  nda: Nda;
  /** Whether an earlier NDA is in force until this one is signed. */
  hasOther: boolean;
}

/** An NDA that the person has to sign: the text, and the signature form below it. */
export function SignForm({ nda, hasOther }: SignFormProps) {
  const { user } = useMe();
  const { sign } = useNdaActions(nda.deal_id);
  const form = useForm({
    initial: { signed_name: '', agreed: false },
    draft: null,
    check: (values) => ({
      ...required(values, { signed_name: 'Enter your full name to sign.' }),
      ...(!values.agreed && { agreed: 'Read the terms and check the box to agree to them.' }),
    }),
    submit: ({ signed_name }) => sign.mutateAsync({ id: nda.id, signed_name }),
    onDone: () => toast('You signed the NDA. Documents under NDA are open to you now.'),
  });
  return (
    <Card
      title="Read and sign"
      description={
        <>
          {nda.sent_by_name ? `Sent by ${nda.sent_by_name} ` : 'Sent '}
          <Time at={nda.sent_at} />
          {nda.expires_at && (
            <>
              {', ends '}
              <Time at={nda.expires_at} as="time" />
            </>
          )}
          {hasOther && '. The NDA that you signed before stays in force until you sign this one.'}
        </>
      }
    >
      <div className="max-w-3xl rounded-lg border border-line bg-sunken px-5 py-5 sm:px-8 sm:py-7">
        <Terms text={nda.terms} />
      </div>
      <FormFields form={form} className="mt-5 max-w-prose">
        <Checkbox
          checked={form.values.agreed}
          onChange={(agreed) => form.set('agreed', agreed)}
          label="I have read the terms and agree to them."
          error={form.errors.agreed}
        />
        <Field
          label="Your full name"
          error={form.errors.signed_name}
          hint="It is your signature. Your name, the time and your IP address are recorded with it."
        >
          <Input
            {...form.text('signed_name')}
            autoComplete="name"
            maxLength={lengths.ndas.signed_name}
            placeholder={user.name}
          />
        </Field>
        <div>
          <Button type="submit" kind="primary" pending={form.pending}>
            Sign NDA
          </Button>
        </div>
      </FormFields>
    </Card>
  );
}
