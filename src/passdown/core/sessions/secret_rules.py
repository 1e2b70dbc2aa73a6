"""The rules that find secrets: those of gitleaks 8.30.1, as data.

Each line has: name, least entropy, number of characters by which a secret starts before its anchor, anchors,
pattern. An anchor is the lower-case text at which the pattern starts. `{=}` stands for what may be between a
name and its value, `{.}` for what may follow a value: more in prose than in code. Rules that need a file name
are left out. Rules with quadratic running time were rewritten. The rules in `OWN_RULES` are ours (ADR 0012):
tokens that gitleaks does not know or knows only in one length, and passwords, which are short and hardly random,
so that only the name before them identifies them.

The rules of gitleaks are under the MIT licence:

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and
to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of
the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
IN THE SOFTWARE.
"""

# ruff: noqa: E501 (each pattern is on one line)

from typing import Final

GENERIC: Final = "generic-api-key"
"""The rule that is not specific to a service; every other rule takes precedence over it."""

GAP: Final = r"""[ \t\w.-]{0,20}+[\s'"]{0,3}+(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}+"""
END: Final = r"""(?:[\x60'"\s;,.:!?|<>()\[\]{}&#*~]|\\[nr]|$)"""

RULES: Final = r"""
1password-secret-key 3.8 0 a3- \bA3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b
1password-service-account-token 4 0 ops_eyj ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}
adafruit-api-key 0 0 adafruit (?i)(?:adafruit){=}([a-z0-9_-]{32}){.}
adobe-client-id 2 0 adobe (?i)(?:adobe){=}([a-f0-9]{32}){.}
adobe-client-secret 2 0 p8e- \b(p8e-(?i:[a-z0-9]{32})){.}
age-secret-key 0 0 age-secret-key-1 AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}
airtable-api-key 0 0 airtable (?i)(?:airtable){=}([a-z0-9]{17}){.}
airtable-personnal-access-token 0 0 pat \b(pat[a-zA-Z0-9]{14}\.[a-f0-9]{64})\b
algolia-api-key 0 0 algolia (?i)(?:algolia){=}([a-z0-9]{32}){.}
alibaba-access-key-id 2 0 ltai \b(LTAI(?i:[a-z0-9]{20})){.}
alibaba-secret-key 2 0 alibaba (?i)(?:alibaba){=}([a-z0-9]{30}){.}
anthropic-admin-api-key 0 0 sk-ant-admin01- \b(sk-ant-admin01-[a-zA-Z0-9_\-]{93}AA){.}
anthropic-api-key 0 0 sk-ant-api03- \b(sk-ant-api03-[a-zA-Z0-9_\-]{93}AA){.}
artifactory-api-key 4.5 0 akcp \bAKCp[A-Za-z0-9]{69}\b
artifactory-reference-token 4.5 0 cmvmd \bcmVmd[A-Za-z0-9]{59}\b
asana-client-id 0 0 asana (?i)(?:asana){=}([0-9]{16}){.}
asana-client-secret 0 0 asana (?i)(?:asana){=}([a-z0-9]{32}){.}
atlassian-api-token 3.5 0 jira,atatt3,atlassian,confluence (?i)(?:(?-i:ATLASSIAN|[Aa]tlassian)|(?-i:CONFLUENCE|[Cc]onfluence)|(?-i:JIRA|[Jj]ira)){=}([a-z0-9]{20}[a-f0-9]{4}){.}|\b(ATATT3[A-Za-z0-9_\-=]{186}){.}
authress-service-client-access-key 2 0 sc_,ext_,scauth_,authress_ \b((?:sc|ext|scauth|authress)_(?i:[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.(?-i:acc)[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120})){.}
aws-access-token 3 0 a3t,abia,acca,akia,asia \b((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b
aws-amazon-bedrock-api-key-long-lived 3 0 absk \b(ABSK[A-Za-z0-9+/]{109,269}={0,2}+){.}
aws-amazon-bedrock-api-key-short-lived 3 0 bedrock-api-key-ymvkcm9j bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t
azure-ad-client-secret 3 4 q~ (?<![^\\'"\x60\s>=:(,)])([a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}+)(?:$|[\\'"\x60\s<),])
beamer-api-token 0 0 beamer (?i)(?:beamer){=}(b_[a-z0-9=_\-]{44}){.}
bitbucket-client-id 0 0 bitbucket (?i)(?:bitbucket){=}([a-z0-9]{32}){.}
bitbucket-client-secret 0 0 bitbucket (?i)(?:bitbucket){=}([a-z0-9=_\-]{64}){.}
bittrex-access-key 0 0 bittrex (?i)(?:bittrex){=}([a-z0-9]{32}){.}
bittrex-secret-key 0 0 bittrex (?i)(?:bittrex){=}([a-z0-9]{32}){.}
cisco-meraki-api-key 3 0 meraki (?i:(?:(?-i:[Mm]eraki|MERAKI))){=}([0-9a-f]{40}){.}
clickhouse-cloud-api-secret-key 3 0 4b1d \b(4b1d[A-Za-z0-9]{38})\b
clojars-api-token 2 0 clojars_ (?i)CLOJARS_[a-z0-9]{60}
cloudflare-api-key 2 0 cloudflare (?i)(?:cloudflare){=}([a-z0-9_-]{40}){.}
cloudflare-global-api-key 2 0 cloudflare (?i)(?:cloudflare){=}([a-f0-9]{37}){.}
cloudflare-origin-ca-key 2 0 v1.0- \b(v1\.0-[a-f0-9]{24}-[a-f0-9]{146}){.}
codecov-access-token 0 0 codecov (?i)(?:codecov){=}([a-z0-9]{32}){.}
cohere-api-token 4 0 cohere,co_api_key (?i:(?:cohere|CO_API_KEY)){=}([a-zA-Z0-9]{40}){.}
coinbase-access-token 0 0 coinbase (?i)(?:coinbase){=}([a-z0-9_-]{64}){.}
confluent-access-token 0 0 confluent (?i)(?:confluent){=}([a-z0-9]{16}){.}
confluent-secret-key 0 0 confluent (?i)(?:confluent){=}([a-z0-9]{64}){.}
contentful-delivery-api-token 0 0 contentful (?i)(?:contentful){=}([a-z0-9=_\-]{43}){.}
curl-auth-header 2.75 0 -h,--header (?:-H|--header)(?:=|[ \t]{0,5})["'](?i:(?:Authorization:[ \t]{0,5}(?:Basic[ \t]([a-z0-9+/]{8,}+={0,3})|(?:Bearer|(?:Api-)?Token)[ \t]([\w=~@.+/-]{8,}+)|([\w=~@.+/-]{8,}+))|(?:(?:X-(?:[a-z]+-)?)?(?:Api-?)?(?:Key|Token)):[ \t]{0,5}([\w=~@.+/-]{8,}+)))["']
curl-auth-user 2 0 curl \bcurl\b(?:(?!curl)(?:[^\r\n]|\\\r?\n)){0,400}?[ \t](?:-u|--user)(?:=|[ \t]{0,5})("[^":\r\n]{0,99}+"?:"?[^"\r\n]{0,99}+"|'[^':\r\n]{3,99}+:[^'\r\n]{3,99}+'|[\w$@.-]{1,99}+:(?:'[^'\r\n]{3,99}+'|"[^"\r\n]{3,99}+"|[\w${}@.-]{1,99}+))(?=\s|$)
databricks-api-token 3 0 dapi \b(dapi[a-f0-9]{32}(?:-\d)?){.}
datadog-access-token 0 0 datadog (?i)(?:datadog){=}([a-z0-9]{40}){.}
defined-networking-api-token 0 0 dnkey (?i)(?:dnkey){=}(dnkey-[a-z0-9=_\-]{26}-[a-z0-9=_\-]{52}){.}
digitalocean-access-token 3 0 doo_v1_ \b(doo_v1_[a-f0-9]{64}){.}
digitalocean-pat 3 0 dop_v1_ \b(dop_v1_[a-f0-9]{64}){.}
digitalocean-refresh-token 0 0 dor_v1_ (?i)\b(dor_v1_[a-f0-9]{64}){.}
discord-api-token 0 0 discord (?i)(?:discord){=}([a-f0-9]{64}){.}
discord-client-id 2 0 discord (?i)(?:discord){=}([0-9]{18}){.}
discord-client-secret 2 0 discord (?i)(?:discord){=}([a-z0-9=_\-]{32}){.}
doppler-api-token 2 0 dp.pt. dp\.pt\.(?i:[a-z0-9]{43})
droneci-access-token 0 0 droneci (?i)(?:droneci){=}([a-z0-9]{32}){.}
dropbox-api-token 0 0 dropbox (?i)(?:dropbox){=}([a-z0-9]{15}){.}
dropbox-long-lived-api-token 0 0 dropbox (?i)(?:dropbox){=}([a-z0-9]{11}(AAAAAAAAAA)[a-z0-9\-_=]{43}){.}
dropbox-short-lived-api-token 0 0 dropbox (?i)(?:dropbox){=}(sl\.[a-z0-9\-=_]{135}){.}
duffel-api-token 2 0 duffel_live_,duffel_test_ duffel_(?:test|live)_(?i:[a-z0-9_\-=]{43})
dynatrace-api-token 4 0 dt0c01. dt0c01\.(?i:[a-z0-9]{24}\.[a-z0-9]{64})
easypost-api-token 2 0 ezak \bEZAK(?i:[a-z0-9]{54}\b)
easypost-test-api-token 2 0 eztk \bEZTK(?i:[a-z0-9]{54}\b)
etsy-access-token 3 0 etsy (?i)(?:(?-i:ETSY|[Ee]tsy)){=}([a-z0-9]{24}){.}
facebook-access-token 3 15 %,| (?i)(\d{15}[|%][0-9a-z_-]{27,40}+){.}
facebook-page-access-token 4 0 eaac,eaam \b(EAA[MC](?i:[a-z0-9]{100,})){.}
facebook-secret 3 0 facebook (?i)(?:facebook){=}([a-f0-9]{32}){.}
fastly-api-token 0 0 fastly (?i)(?:fastly){=}([a-z0-9=_\-]{32}){.}
finicity-api-token 0 0 finicity (?i)(?:finicity){=}([a-f0-9]{32}){.}
finicity-client-secret 0 0 finicity (?i)(?:finicity){=}([a-z0-9]{20}){.}
finnhub-access-token 0 0 finnhub (?i)(?:finnhub){=}([a-z0-9]{20}){.}
flickr-access-token 0 0 flickr (?i)(?:flickr){=}([a-z0-9]{32}){.}
flutterwave-encryption-key 2 0 flwseck_test- FLWSECK_TEST-(?i:[a-h0-9]{12})
flutterwave-public-key 2 0 flwpubk_test- FLWPUBK_TEST-(?i:[a-h0-9]{32}-X)
flutterwave-secret-key 2 0 flwseck_test- FLWSECK_TEST-(?i:[a-h0-9]{32}-X)
flyio-access-token 4 0 fm2_,fo1_,fm1a_,fm1r_ \b((?:fo1_[\w-]{43}|fm1[ar]_[a-zA-Z0-9+\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\/]{100,}={0,3})){.}
frameio-api-token 0 0 fio-u- fio-u-(?i:[a-z0-9\-_=]{64})
freshbooks-access-token 0 0 freshbooks (?i)(?:freshbooks){=}([a-z0-9]{64}){.}
gcp-api-key 4 0 aiza \b(AIza[\w-]{35}){.}
generic-api-key 3.5 0 api,key,auth,creds,passw,token,access,secret,credential (?i)(?:access|auth|(?-i:[Aa]pi|API)|credential|creds|key|passw(?:or)?d|secret|token){=}([\w.=-]{10,150}+(?={.})|[a-z0-9][a-z0-9+/]{11,}+={0,3}+(?={.}))
github-app-token 3 0 ghs_,ghu_ (?:ghu|ghs)_[0-9a-zA-Z]{36}
github-fine-grained-pat 3 0 github_pat_ github_pat_\w{82}
github-oauth 3 0 gho_ gho_[0-9a-zA-Z]{36}
github-pat 3 0 ghp_ ghp_[0-9a-zA-Z]{36}
github-refresh-token 3 0 ghr_ ghr_[0-9a-zA-Z]{36}
gitlab-cicd-job-token 3 0 glcbt- glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}
gitlab-deploy-token 3 0 gldt- gldt-[0-9a-zA-Z_\-]{20}
gitlab-feature-flag-client-token 3 0 glffct- glffct-[0-9a-zA-Z_\-]{20}
gitlab-feed-token 3 0 glft- glft-[0-9a-zA-Z_\-]{20}
gitlab-incoming-mail-token 3 0 glimt- glimt-[0-9a-zA-Z_\-]{25}
gitlab-kubernetes-agent-token 3 0 glagent- glagent-[0-9a-zA-Z_\-]{50}
gitlab-oauth-app-secret 3 0 gloas- gloas-[0-9a-zA-Z_\-]{64}
gitlab-pat 3 0 glpat- glpat-[\w-]{20}
gitlab-pat-routable 4 0 glpat- \bglpat-[0-9a-zA-Z_-]{27,300}\.[0-9a-z]{2}[0-9a-z]{7}\b
gitlab-ptt 3 0 glptt- glptt-[0-9a-f]{40}
gitlab-rrt 3 0 gr1348941 GR1348941[\w-]{20}
gitlab-runner-authentication-token 3 0 glrt- glrt-[0-9a-zA-Z_\-]{20}
gitlab-runner-authentication-token-routable 4 0 glrt-t \bglrt-t\d_[0-9a-zA-Z_\-]{27,300}\.[0-9a-z]{2}[0-9a-z]{7}\b
gitlab-scim-token 3 0 glsoat- glsoat-[0-9a-zA-Z_\-]{20}
gitlab-session-cookie 3 0 _gitlab_session= _gitlab_session=[0-9a-z]{32}
gitter-access-token 0 0 gitter (?i)(?:gitter){=}([a-z0-9_-]{40}){.}
gocardless-api-token 0 0 gocardless (?i)(?:gocardless){=}(live_(?i:[a-z0-9\-_=]{40})){.}
grafana-api-key 3 0 eyjrijoi (?i)\b(eyJrIjoi[A-Za-z0-9]{70,400}={0,3}+){.}
grafana-cloud-api-token 3 0 glc_ (?i)\b(glc_[A-Za-z0-9+/]{32,400}={0,3}+){.}
grafana-service-account-token 3 0 glsa_ (?i)\b(glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}){.}
harness-api-key 0 0 pat.,sat. (?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{20}
hashicorp-tf-api-token 3.5 15 atlasv1 (?i)[a-z0-9]{14}\.(?-i:atlasv1)\.[a-z0-9_=-]{60,70}
heroku-api-key 0 0 heroku (?i)(?:heroku){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
heroku-api-key-v2 4 0 hrku-aa \b((HRKU-AA[0-9a-zA-Z_-]{58})){.}
hubspot-api-key 0 0 hubspot (?i)(?:hubspot){=}([0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}){.}
huggingface-access-token 2 0 hf_ \b(hf_(?i:[a-z]{34})){.}
huggingface-organization-api-token 2 0 api_org_ \b(api_org_(?i:[a-z]{34})){.}
infracost-api-token 3 0 ico- \b(ico-[a-zA-Z0-9]{32}){.}
intercom-api-key 0 0 intercom (?i)(?:intercom){=}([a-z0-9=_\-]{60}){.}
intra42-client-secret 3 0 s-s4t2af-,s-s4t2ud- \b(s-s4t2(?:ud|af)-(?i:[abcdef0123456789]{64})){.}
jfrog-api-key 0 0 xray,jfrog,bintray,artifactory (?i)(?:jfrog|artifactory|bintray|xray){=}([a-z0-9]{73}){.}
jfrog-identity-token 0 0 xray,jfrog,bintray,artifactory (?i)(?:jfrog|artifactory|bintray|xray){=}([a-z0-9]{64}){.}
jwt 3 0 ey \b(ey[a-zA-Z0-9]{17,}+\.ey[a-zA-Z0-9/\\_-]{17,}+(?:\.(?:[a-zA-Z0-9/\\_-]{10,}+={0,2})?)?){.}
jwt-base64 2 0 zxlk \bZXlK[a-zA-Z0-9/\\_+\r\n-]{50,}+={0,2}
kraken-access-token 0 0 kraken (?i)(?:kraken){=}([a-z0-9\/=_\+\-]{80,90}+){.}
kucoin-access-token 0 0 kucoin (?i)(?:kucoin){=}([a-f0-9]{24}){.}
kucoin-secret-key 0 0 kucoin (?i)(?:kucoin){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
launchdarkly-access-token 0 0 launchdarkly (?i)(?:launchdarkly){=}([a-z0-9=_\-]{40}){.}
linear-api-key 2 0 lin_api_ lin_api_(?i:[a-z0-9]{40})
linear-client-secret 2 0 linear (?i)(?:linear){=}([a-f0-9]{32}){.}
linkedin-client-id 2 0 linked (?i)(?:linked[_-]?in){=}([a-z0-9]{14}){.}
linkedin-client-secret 2 0 linked (?i)(?:linked[_-]?in){=}([a-z0-9]{16}){.}
lob-api-key 0 0 lob (?i)(?:lob){=}((live|test)_[a-f0-9]{35}){.}
lob-pub-api-key 0 0 lob (?i)(?:lob){=}((test|live)_pub_[a-f0-9]{31}){.}
looker-client-id 0 0 looker (?i)(?:looker){=}([a-z0-9]{20}){.}
looker-client-secret 0 0 looker (?i)(?:looker){=}([a-z0-9]{24}){.}
mailchimp-api-key 0 0 mailchimp (?i)(?:MailchimpSDK.initialize|mailchimp){=}([a-f0-9]{32}-us\d\d){.}
mailgun-private-api-token 0 0 mailgun (?i)(?:mailgun){=}(key-[a-f0-9]{32}){.}
mailgun-pub-key 0 0 mailgun (?i)(?:mailgun){=}(pubkey-[a-f0-9]{32}){.}
mailgun-signing-key 0 0 mailgun (?i)(?:mailgun){=}([a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}){.}
mapbox-api-token 0 0 mapbox (?i)(?:mapbox){=}(pk\.[a-z0-9]{60}\.[a-z0-9]{22}){.}
mattermost-access-token 0 0 mattermost (?i)(?:mattermost){=}([a-z0-9]{26}){.}
maxmind-license-key 4 36 _mmk \b([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk){.}
messagebird-api-token 0 0 message (?i)(?:message[_-]?bird){=}([a-z0-9]{25}){.}
messagebird-client-id 0 0 message (?i)(?:message[_-]?bird){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
microsoft-teams-webhook 0 0 https:// https://[a-z0-9]+\.webhook\.office\.com/webhookb2/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}@[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9]{8}-([a-z0-9]{4}-){3}[a-z0-9]{12}
netlify-access-token 0 0 netlify (?i)(?:netlify){=}([a-z0-9=_\-]{40,46}+){.}
new-relic-browser-api-token 0 0 newrelic,new-relic,new_relic (?i)(?:new-relic|newrelic|new_relic){=}(NRJS-[a-f0-9]{19}){.}
new-relic-insert-key 0 0 newrelic,new-relic,new_relic (?i)(?:new-relic|newrelic|new_relic){=}(NRII-[a-z0-9-]{32}){.}
new-relic-user-api-id 0 0 newrelic,new-relic,new_relic (?i)(?:new-relic|newrelic|new_relic){=}([a-z0-9]{64}){.}
new-relic-user-api-key 0 0 newrelic,new-relic,new_relic (?i)(?:new-relic|newrelic|new_relic){=}(NRAK-[a-z0-9]{27}){.}
notion-api-token 4 0 ntn_ \b(ntn_[0-9]{11}[A-Za-z0-9]{32}[A-Za-z0-9]{3}){.}
npm-access-token 2 0 npm_ (?i)\b(npm_[a-z0-9]{36}){.}
nytimes-access-token 0 0 nytimes,newyorktimes,new-york-times (?i)(?:nytimes|new-york-times,|newyorktimes){=}([a-z0-9=_\-]{32}){.}
octopus-deploy-api-key 3 0 api- \b(API-[A-Z0-9]{26}){.}
okta-access-token 4 0 okta (?i:(?:(?-i:[Oo]kta|OKTA))){=}(00[\w=\-]{40}){.}
openai-api-key 3 0 sk- \b(sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})\b|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}){.}
openshift-user-token 3.5 0 sha256~ \b(sha256~[\w-]{43})(?:[^\w-]|\Z)
perplexity-api-key 4 0 pplx- \b(pplx-[a-zA-Z0-9]{48})(?:[\x60'"\s;]|\\[nr]|$|\b)
plaid-api-token 0 0 plaid (?i)(?:plaid){=}(access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
plaid-client-id 3.5 0 plaid (?i)(?:plaid){=}([a-z0-9]{24}){.}
plaid-secret-key 3.5 0 plaid (?i)(?:plaid){=}([a-z0-9]{30}){.}
planetscale-api-token 3 0 pscale_tkn_ \b(pscale_tkn_(?i:[\w=\.-]{32,64})){.}
planetscale-oauth-token 3 0 pscale_oauth_ \b(pscale_oauth_[\w=\.-]{32,64}+){.}
planetscale-password 3 0 pscale_pw_ (?i)\b(pscale_pw_(?i:[\w=\.-]{32,64})){.}
postman-api-token 3 0 pmak- \b(PMAK-(?i:[a-f0-9]{24}\-[a-f0-9]{34})){.}
prefect-api-token 2 0 pnu_ \b(pnu_[a-zA-Z0-9]{36}){.}
private-key 0 0 -----begin (?i)-----BEGIN[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{10,16384}?KEY(?: BLOCK)?-----|(?:(?:\s|\\n|\\r){0,4}[A-Za-z0-9+/=]{32,}+)+)
privateai-api-token 3 0 private (?i:(?:private[_-]?ai)){=}([a-z0-9]{32}){.}
pulumi-api-token 2 0 pul- \b(pul-[a-f0-9]{40}){.}
pypi-upload-token 3 0 pypi-ageichlwas5vcmc pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}
rapidapi-access-token 0 0 rapidapi (?i)(?:rapidapi){=}([a-z0-9_-]{50}){.}
readme-api-token 2 0 rdme_ \b(rdme_[a-z0-9]{70}){.}
rubygems-api-token 2 0 rubygems_ \b(rubygems_[a-f0-9]{48}){.}
scalingo-api-token 2 0 tk-us- \b(tk-us-[\w-]{48}){.}
sendbird-access-id 0 0 sendbird (?i)(?:sendbird){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
sendbird-access-token 0 0 sendbird (?i)(?:sendbird){=}([a-f0-9]{40}){.}
sendgrid-api-token 2 0 sg. \b(SG\.(?i:[a-z0-9=_\-\.]{66})){.}
sendinblue-api-token 2 0 xkeysib- \b(xkeysib-[a-f0-9]{64}\-(?i:[a-z0-9]{16})){.}
sentry-access-token 3 0 sentry (?i)(?:sentry){=}([a-f0-9]{64}){.}
sentry-org-token 4.5 0 sntrys_eyjpyxqio \bsntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{43}(?:[^a-zA-Z0-9+/]|\Z)
sentry-user-token 3.5 0 sntryu_ \b(sntryu_[a-f0-9]{64}){.}
settlemint-application-access-token 3 0 sm_aat_ \b(sm_aat_[a-zA-Z0-9]{16}){.}
settlemint-personal-access-token 3 0 sm_pat_ \b(sm_pat_[a-zA-Z0-9]{16}){.}
settlemint-service-access-token 3 0 sm_sat_ \b(sm_sat_[a-zA-Z0-9]{16}){.}
shippo-api-token 2 0 shippo_live_,shippo_test_ \b(shippo_(?:live|test)_[a-fA-F0-9]{40}){.}
shopify-access-token 2 0 shpat_ shpat_[a-fA-F0-9]{32}
shopify-custom-access-token 2 0 shpca_ shpca_[a-fA-F0-9]{32}
shopify-private-app-access-token 2 0 shppa_ shppa_[a-fA-F0-9]{32}
shopify-shared-secret 2 0 shpss_ shpss_[a-fA-F0-9]{32}
sidekiq-secret 0 0 bundle_gems__contribsys__com,bundle_enterprise__contribsys__ (?i)(?:BUNDLE_ENTERPRISE__CONTRIBSYS__COM|BUNDLE_GEMS__CONTRIBSYS__COM){=}([a-f0-9]{8}:[a-f0-9]{8}){.}
sidekiq-sensitive-url 0 0 http (?i)\bhttps?://([a-f0-9]{8}:[a-f0-9]{8})@(?:gems.contribsys.com|enterprise.contribsys.com)(?:[\/|\#|\?|:]|$)
slack-app-token 2 0 xapp- (?i)xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+
slack-bot-token 3 0 xoxb- xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*
slack-config-access-token 2 0 xoxe (?i)xoxe.xox[bp]-\d-[A-Z0-9]{163,166}
slack-config-refresh-token 2 0 xoxe- (?i)xoxe-\d-[A-Z0-9]{146}
slack-legacy-bot-token 2 0 xoxb- xoxb-[0-9]{8,14}-[a-zA-Z0-9]{18,26}
slack-legacy-token 2 0 xoxo-,xoxs- xox[os]-\d+-\d+-\d+-[a-fA-F\d]+
slack-legacy-workspace-token 2 0 xoxa-,xoxr- xox[ar]-(?:\d-)?[0-9a-zA-Z]{8,48}
slack-user-token 2 0 xoxe-,xoxp- xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}
slack-webhook-url 0 0 hooks.slack.com hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{43,56})
snyk-api-token 0 0 snyk (?i)(?:snyk[_.-]?(?:(?:api|oauth)[_.-]?)?(?:key|token)){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
sonar-api-token 0 0 sonar (?i)(?:sonar[_.-]?(?:login|token)){=}((?:squ_|sqp_|sqa_)?[a-z0-9=_\-]{40}){.}
sourcegraph-access-token 3 0 sgp_ (?i)\b(sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}){.}
square-access-token 2 0 eaaa,sq0atp- \b((?:EAAA|sq0atp-)[\w-]{22,60}+){.}
squarespace-access-token 0 0 squarespace (?i)(?:squarespace){=}([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}){.}
stripe-access-token 2 0 rk_live_,rk_prod_,rk_test_,sk_live_,sk_prod_,sk_test_ \b((?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99}+){.}
sumologic-access-id 3 0 sumo (?i:(?:(?-i:[Ss]umo|SUMO))){=}(su[a-zA-Z0-9]{12}){.}
sumologic-access-token 3 0 sumo (?i)(?:(?-i:[Ss]umo|SUMO)){=}([a-z0-9]{64}){.}
telegram-bot-api-token 0 0 telegr (?i)(?:telegr){=}([0-9]{5,16}:(?-i:A)[a-z0-9_\-]{34}){.}
travisci-access-token 0 0 travis (?i)(?:travis){=}([a-z0-9]{22}){.}
twilio-api-key 3 0 sk SK[0-9a-fA-F]{32}
twitch-api-token 0 0 twitch (?i)(?:twitch){=}([a-z0-9]{30}){.}
twitter-access-secret 0 0 twitter (?i)(?:twitter){=}([a-z0-9]{45}){.}
twitter-access-token 0 0 twitter (?i)(?:twitter){=}([0-9]{15,25}-[a-zA-Z0-9]{20,40}+){.}
twitter-api-key 0 0 twitter (?i)(?:twitter){=}([a-z0-9]{25}){.}
twitter-api-secret 0 0 twitter (?i)(?:twitter){=}([a-z0-9]{50}){.}
twitter-bearer-token 0 0 twitter (?i)(?:twitter){=}(A{22}[a-zA-Z0-9%]{80,100}+){.}
typeform-api-token 0 0 typeform (?i)(?:typeform){=}(tfp_[a-z0-9\-_\.=]{59}){.}
vault-batch-token 4 0 hvb. \b(hvb\.[\w-]{138,300}+){.}
vault-service-token 3.5 0 s.,hvs. \b((?:hvs\.[\w-]{90,120}|s\.(?i:[a-z0-9]{24}))){.}
yandex-access-token 0 0 yandex (?i)(?:yandex){=}(t1\.[A-Z0-9a-z_-]+[=]{0,2}\.[A-Z0-9a-z_-]{86}[=]{0,2}+){.}
yandex-api-key 0 0 yandex (?i)(?:yandex){=}(AQVN[A-Za-z0-9_\-]{35,38}+){.}
yandex-aws-access-token 0 0 yandex (?i)(?:yandex){=}(YC[a-zA-Z0-9_\-]{38}){.}
zendesk-secret-key 0 0 zendesk (?i)(?:zendesk){=}([a-z0-9]{40}){.}
"""

OWN_RULES: Final = r"""
authorization-header 0 0 authorization (?i)authorization['"]?[ \t]{0,5}[:=][ \t]{0,5}['"]?(?:Basic|Bearer|(?:Api-)?Token)[ \t]{1,5}([\w=~@.+/-]{8,}+)
url-password 0 0 :// ://[^\s/:@'"<>\x60]{0,100}+:([^\s/@'"<>\x60\[]{3,200}+)@
anthropic-token 3 0 sk-ant- \b(sk-ant-[a-z0-9]{2,12}-[\w-]{16,300}+)
openai-token 2.5 0 sk-proj-,sk-admin-,sk-svcacct-,sk-service-,sk-none- \b(sk-(?:proj|admin|svcacct|service|None)-(?=[A-Za-z_-]{0,60}+[0-9])[\w-]{12,300}+)
secret-key-token 3.5 0 sk- \b(sk-(?:or-v1-)?(?=[A-Za-z]{0,40}+[0-9])[A-Za-z0-9]{32,128}+)\b
telegram-bot-token 3.5 0 :a (?<=[0-9]{5}):(A(?=[A-Za-z_-]{0,33}+[0-9])[\w-]{34})(?![\w-])
slack-token 2.5 0 xoxa-,xoxb-,xoxe-,xoxo-,xoxp-,xoxr-,xoxs- \b(xox[abeoprs]-(?=[A-Za-z-]{0,20}+[0-9])[0-9A-Za-z-]{20,250}+)
gitlab-token 3 0 glptt-,glcbt- \b(gl(?:ptt-[\w-]{40}|cbt-[\w-]{20})[\w-]{0,40}+)
square-token 3 0 sq0csp-,sq0idp-,sq0atp- \b(sq0[a-z]{3}-[\w-]{22,60}+)
pypi-test-token 3 0 pypi-agendgvzdc5wexbplm9yz pypi-AgENdGVzdC5weXBpLm9yZ[\w-]{50,1000}+
mailchimp-token 3 32 -us \b([0-9a-f]{32}-us[0-9]{1,2})\b
sourcegraph-hex-token 3 0 sourcegraph (?i)sourcegraph{=}([a-f0-9]{40}){.}
discord-bot-token 4 0 . (?:(?<=[MNO][A-Za-z0-9]{23})|(?<=[MNO][A-Za-z0-9]{24})|(?<=[MNO][A-Za-z0-9]{25}))\.[\w-]{6}\.([\w-]{27,38}+)
npm-auth-token 0 0 _authtoken,_password,:_auth (?i)(?:_authToken|_password|:_auth)[ \t]{0,3}=[ \t]{0,3}(?-i:([\w=+/-]{8,300}+))
aws-secret-key 3.5 0 aws_sec,aws_acc,secret_acc,secret_key,secretacc (?i)(?:aws_secret\w{0,20}+|aws_access_key|secret_?access_?key|secret_key)['\"]?[ \t]{0,3}(?:=|:)[ \t]{0,3}['\"]?([a-z0-9/+]{40})(?![a-z0-9/+=])
hex-api-key 2.5 0 api_key,api-key,apikey (?i)api[_-]?key{=}([a-f0-9]{32,128}+){.}
secret-variable 0 0 password,passwd,passphrase,_pass,_pwd,_token,_secret,_api_key,_access_key (?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|_TOKEN|_SECRET|_API_KEY|_ACCESS_KEY)[0-9]{0,2}+=(?:"([^"\s$<{\[%][^"\n]{2,99}+)"|'([^'\s$<{\[%][^'\n]{2,99}+)'|([^\s'"\x60;|&<>()\[\]{}$%\\][^\s'"\x60;|&<>()]{2,99}+))
password-value 0 0 password,passwd,passphrase,pwd (?i)(?:password|passwd|passphrase|pwd)(?:_?[0-9]{1,2}|(?:_super)?_secure)?+['\"]?[ \t]{0,10}+(?:(?::=|=>|={1,3}|!={1,2})[ \t]{0,3}+@?(?:"([^"\s$<{\[/~.%][^"\s]{4,99}+)"|'([^'\s$<{\[/~.%][^'\s]{4,99}+)'|\x60([^\x60\s$<{\[/~.%][^\x60\s]{4,99}+)\x60)|(?::=|=>|={1,3}|!={1,2}|:)[ \t]{0,3}+@?(?:(?:"((?=[A-Za-z_.-]{0,40}+[^A-Za-z_.\s'\"\x60-])[^"\s$<{\[/~.%][^"\s]{4,99}+)"|'((?=[A-Za-z_.-]{0,40}+[^A-Za-z_.\s'\"\x60-])[^'\s$<{\[/~.%][^'\s]{4,99}+)'|\x60((?=[A-Za-z_.-]{0,40}+[^A-Za-z_.\s'\"\x60-])[^\x60\s$<{\[/~.%][^\x60\s]{4,99}+)\x60)|(?=[A-Za-z_.-]{0,40}+[0-9!#%^*+~?@])([^\s'"\x60,;<>()\[\]{}$&/~.\\|][^\s'"\x60,;<>&|)\]]{4,99}+)))
named-password 0 0 password (?i)password['\"] value=['\"]([^'\"\s$<{\[]{5,99}+)['\"]
named-secret 0 0 secret,api_key,api-key,apikey,private_key,access_key,db_pass (?i)(?:secret|api[_-]?key|private_key|access_key|db_pass)\w{0,20}+['"]?[ \t]{0,3}+(?::=|=>|={1,3}|!={1,2}|:)[ \t]{0,3}+@?(?:"((?=[^"\s]{0,100}?[!#$%^&*?@~+)}\]])(?=[^"\s]{0,100}?[A-Za-z0-9])[^"\s<{\[$/%][^"\s]{7,99}+)"|'((?=[^'\s]{0,100}?[!#$%^&*?@~+)}\]])(?=[^'\s]{0,100}?[A-Za-z0-9])[^'\s<{\[$/%][^'\s]{7,99}+)'|\x60((?=[^\x60\s]{0,100}?[!#$%^&*?@~+)}\]])(?=[^\x60\s]{0,100}?[A-Za-z0-9])[^\x60\s<{\[$/%][^\x60\s]{7,99}+)\x60)
secret-option 0 0 -- (?i)--[\w-]{0,20}?(?:password|passwd|passphrase|token|secret|api-?key|access-?key)(?:=['\"]?([^\s'\"\x60$<{\[*-][^\s'\"\x60]{2,99}+)|[ \t]{1,3}+['\"]?(?=[A-Za-z_.-]{0,40}+[0-9])(?!id=)([^\s'\"\x60$<{\[*-][^\s'\"\x60]{5,99}+))
query-secret 0 0 ?,& (?i)[?&][\w.\[\]-]{0,20}?(?:token|secret|password|passwd|pwd|api_?key|access_?key|sig|signature|credential)=([^\s&#'\"\x60<>{}\[\]$%*()][^\s&#'\"\x60<>{}\[\]()]{2,299}+)
"""

ALLOWED: Final = r"""
aws-access-token .+EXAMPLE
vault-service-token s\.[A-Za-z]{24}
curl-auth-user [^:]+:(?:change(?:it|me)|pass(?:word)?|pwd|test|token|\*+|x+)["']?|[^:]*:["']?(?:\$|<|\[|\{\{).*
generic-api-key [a-zA-Z_.-]+
* (?i:true|false|null|none|nil|undefined|yes|no|required|optional)
* (?i:self|this|args?|opts|options|settings|config|conf|os|process|user|form|request|req|data|ctx|env|props|state)\.[\w.()\[\]]+
* [A-Z_]*(?:PASS|TOKEN|SECRET|KEY)[A-Z_]*
* [*•…xX.]+
secret-variable .*(?:[xX]{6}|[*]{3}|\.{3}|…).*
secret-variable (?i:(?:my|your|the|a|new|old|db|user|api|auth|access)?[_-]?(?:pass|passwd|password|passphrase|pwd|token|secret|key|value|string|str|text|credential|signature))
password-value .*(?:[xX]{6}|[*]{3}|\.{3}|…).*
password-value (?i:(?:my|your|the|a|new|old|db|user|api|auth|access)?[_-]?(?:pass|passwd|password|passphrase|pwd|token|secret|key|value|string|str|text|credential|signature))
named-password .*(?:[xX]{6}|[*]{3}|\.{3}|…).*
named-password (?i:(?:my|your|the|a|new|old|db|user|api|auth|access)?[_-]?(?:pass|passwd|password|passphrase|pwd|token|secret|key|value|string|str|text|credential|signature))
secret-option .*(?:[xX]{6}|[*]{3}|\.{3}|…).*
secret-option (?i:(?:my|your|the|a|new|old|db|user|api|auth|access)?[_-]?(?:pass|passwd|password|passphrase|pwd|token|secret|key|value|string|str|text|credential|signature))
query-secret .*(?:[xX]{6}|[*]{3}|\.{3}|…).*
query-secret (?i:(?:my|your|the|a|new|old|db|user|api|auth|access)?[_-]?(?:pass|passwd|password|passphrase|pwd|token|secret|key|value|string|str|text|credential|signature))
* ([a-zA-Z*.])\1*
* \$(?:\d+|\{\d+\}|[A-Z_]+|[a-z_]+|\{[A-Z_]+\}|\{[a-z_]+\})
* \$?\{\{[^{}]*\}\}
* %[A-Za-z_]+%|@[A-Za-z_]+@|\{\d{0,2}\}
* /(?:bin|etc|home|opt|tmp|usr|var|Users)/[\w ./-]+
"""
"""Values that are not secrets: the rule, or `*` for all, and a pattern for the whole value."""

HARMLESS: Final = (
    r"access(?:ibility|or)|access[_.-]?id|random[_.-]?access|api[_.-]?(?:id|name|version)|rapid|capital|author"
    r"|credentials?[_.-]?id|withcredentials|(?:bucket|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence)[_.-]?key"
    r"|turkey|key[_.-]?(?:alias|board|code|frame|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|stone"
    r"|storetype|word|up|down|left|right)|key[_.-]?vault[_.-]?(?:id|name)|keyvaulttostoresecrets|key(?:store|tab)[_.-]?(?:file|path)"
    r"|issuerkeyhash|monkey|keying|secret[_.-]?(?:length|name|size)|usersecretsid|csrf[_.-]?token"
    r"|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|public[_.-]?token|(?:key|token)[_.-]?file"
)
"""Names, in lower case, that the generic rule does not treat as secrets."""

HARMLESS_WORDS: Final = """
000000 014df517-39d1-4453-b7b3-9930c563627c 6fe4476ee5a1832882e326b506d14126 _ec2_ aaaaaa
abcdefghijklmnopqrstuvwxyz about abstract academy acces account act- act. act_ action active activity
adapter add- add. add_ addon addres admin adobe advanced adventure agent agile air- air. air_ ajax akka
alert alfred algorithm all- all. all_ alloy alpha amazon amqp analysi analytic analyzer android angular
animate animation another ansible answer ant- ant. ant_ any- any. any_ apache app- app. app_ apple arch
arduino array art- art. art_ article asp- asp. asp_ asset atom attention audio audit aura auth auto aws_
azure back bar- bar. bar_ base bash basic batch been beer behavior being benchmark best beta better big-
big. big_ binary binding bit- bit. bit_ bitcoin blog board book boost boot bosh bot- bot. bot_ bower box-
box. box_ boxen branch bridge browser brunch buffer bug- bug. bug_ build built bundle busines but- but.
but_ button cache caching cakephp calendar call camera campfire can- can. can_ canva captcha capture card
carousel case cassandra cat- cat. cat_ category center cento challenge change channel chart chat cheat
check chef ches chinese chosen chrome clas clean cli- cli. cli_ client clojure clone closure cloud club
cluster cms- cms_ coco code coding coffee color combination combo command comment commit common compas
compiler complete component composer computer computing con- con. con_ concept conf connect console
contact container contao content contest control convert conway' cookie cool copy cordova core couchdb
countdown counter course craft crawler create creating creator credential crm- crm. crm_ cros crud csv-
csv. csv_ cube cucumber cuda current custom daemon dark dart dash data date day- day. day_ dead debian
debug deck define del- del. del_ delete demo deploy design desktop detection detector dev- dev. dev_
develop device devise diff digital directive directory django dns- dns_ doc- doc. doc_ docker docpad
doctrine document doe- doe. doe_ dojo dom- dom. dom_ domain don't done dot- dot. dot_ draft drag drill
drive drop drupal dsl- dsl. dsl_ dynamic easy ecdsa eclipse edit element emac embed ember emitter
emulator endpoint engine english enhanced entity entry env_ episode erlang error espresso event example
exercise experiment expire exploit explorer expres ext- ext. ext_ extended extension external extra
fabric factory fake fast feature feed fewfwef ffmpeg field file filter find firefox firmware first fish
fix- fix_ flash flask flat flex flickr flow fluent fluid folder font force foreman fork form forum
foundry free friend front-end frontend ftp- ftp. ftp_ fuel full fun- fun. fun_ func future gaia gallery
game gateway gem- gem. gem_ gen- gen. gen_ general generator generic genetic get- get. get_ getenv
getting gist git- git. git_ github gitignore gitlab glas gnome gnu- gnu. gnu_ goal golang gollum good
google gpu- gpu. gpu_ gradle graph great grid groovy group grunt guard gui- gui. gui_ guide gulp gwt-
gwt. gwt_ hack hadoop haml handler hardware has- has_ hash haskell have haxe hello help here hero high
home hook host hot- hot. hot_ house how- how. how_ html http hub- hub. hub_ hubot human icon ide- ide.
ide_ idea idiomatic image impact impres index infinite info injection input instagram install instant
intellij interface internet into intro ionic irc- irc_ iso- iso. iso_ issue jade jasmine java jbos jekyll
jenkin jetbrains job- job. job_ joomla jpa- jpa. jpa_ json just kafka karma kata kernel kindle kit- kit.
kit_ kitchen knife koan kohana lab- lab. lab_ lambda lamp language laravel last latest latex launcher
layer layout lazy ldap leaflet league learn led- led. led_ les- les. les_ level lib- lib. lib_ librarie
library license life light like line link linux lisp list lite little load local location lock log- log.
log_ logger logging logic login logstash longer look love lua- lua. lua_ mac- mac. mac_ machine made
magic mail make making man- man. man_ manage manifest manual map- map. map_ mapper mapping markdown
markup master math matrix maven md5 mean media meetup memory menu merchant message messaging meta meteor
method metric micro middleman migration miner mini mirror mit- mit. mit_ mobile mocha mock mod- mod. mod_
mode modular module modx money mongo monitor monkey more motion moved movie mozilla mqtt mule multi music
mustache mvc- mvc. mvc_ mysql nagio name native need neo- neo. neo_ nest net- net. net_ nette new- new.
new_ next nginx ninja nlp- nlp. nlp_ node nosql not- not. not_ note notice notifier now- now. now_ number
object obsolete ocaml octopres official old- old. old_ only open option oracle org- org. org_ origin orm-
orm. orm_ osx- osx_ our- our. our_ out- out. out_ output over own- own. own_ pack page panel paper para
parse parsing party patch path pattern payment paypal pdf- pdf. pdf_ pebble people perl personal phalcon
phoenix phone photo php- php. php_ physic picker play please plu- plu. plu_ plug-in plugin png- png. png_
poker polyfill polymer pool pop- pop. pop_ popcorn popup port post power prelude pretty principle print
pro- pro. pro_ problem proc product program progres project protocol provider proxy public pull puppet
pure purpose push pyramid python quality query queue quick rabbitmq rack radio rail random range
raspberry rdf- rdf. rdf_ react read real recipe recorder red- red. red_ reddit redi redmine reference
refinery refresh related release remote repo request require response resque rest resume reveal reverse
riak rich right ring robot role room router routing rpc- rpc. rpc_ rpg- rpg. rpg_ ruby- ruby. ruby_ rule
run- run. run_ runner running rust rvm- rvm. rvm_ salt sample sandbox sas- sas. sas_ sbt- sbt. sbt_ scala
scanner schema scheme school science scraper scratch screen script scroll scs- scs. scs_ sdk- sdk. sdk_
sdl- sdl. sdl_ secure security see- see. see_ seed select selenium semantic sencha send serie server
service session set- set. set_ setting setup sha1 sha2 share sheet shell shield shipping shop shortener
should show side silex simple simulator single site skeleton sketch skin slack slide slim small smart
smtp snake snapshot snippet soap social socket software solarized solr solution solver some soon source
space spark spatial spec sphinx spine spotify spree sprite sql- sql. sql_ ssh- ssh. ssh_ stack staging
standard stanford start stat step still stm- stm. stm_ storage store storm story strategy stream stripe
structure studio study stuff style sublime sugar suite summary super svg- svg. svg_ svn- svn. svn_
swagger swift switch symfony symphony sync synopsi syntax system tab- tab. tab_ table tag- tag. tag_ talk
target task tcp- tcp. tcp_ tdd- tdd. tdd_ team tech template term testing tetri text theme theory three
thrift time tiny tip- tip. tip_ title todo token tool top- top. top_ tornado touch tower traffic training
transfer translate tree trello try- try. try_ tumblr tut- tut. tut_ tutorial tweet twig twitter type typo
ubuntu ultimate under unit universal unix upgrade uri- uri. uri_ url- url. url_ usage usb- usb. usb_ use-
use. use_ used useful user using util vagrant validator value variou varnish version via- via. via_ video
view vim- vim. vim_ vimrc virtual vision visual vpn want warning watch wave way- way. way_ weather web-
web_ webapp webgl webkit webrtc welcome what when which why- why. why_ widget wifi wiki win- win. win_
window wip- wip. wip_ within without wizard word work world wrapper write writing written www- www. www_
xamarin xml- xml. xml_ xmpp xxxxxx yahoo yaml yandex yeoman yet- yet. yet_ yii- yii. yii_ youtube yui-
yui. yui_ zend zero zip- zip. zip_ zsh- zsh. zsh_
"""
"""Words that a generated secret is unlikely to contain: a value with one of them was written by a person."""
