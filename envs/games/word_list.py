"""Common English words of four to eight letters for the word games: length -> words in alphabetical order."""

from __future__ import annotations

_TEXT = """
able acid aged also area army away baby back ball band bank barn base bath beam bean bear beat bell belt bend bent
best bike bird bite blow blue boat body bold bolt bone book boot born boss both bowl bulk burn bush busy cake calm
came camp cane card care cart case cash cast cave cell chat chef chin chip city clay clip club coal coat code coin
cold come cook cool cope copy cord core cork corn cost crab crew crop crow cube cure curl dark dart data date dawn
days deal dear deck deep deer desk dial dice diet dine dirt dish dive dock does dome done door dose down draw drew
drop drum dual duck dull dune dust duty each earn ease east easy echo edge else epic even ever exam exit face fact
fade fair fall fame farm fast fate fear feed feel feet fell fern file fill film find fine fire firm fish five flag
flat flew flip flow foam fold folk fond food foot fork form fort four free frog from fuel full fund gain game gate
gave gaze gear gift girl give glad glow glue goal goat goes gold golf gone good gown grab gray grew grid grip grow
gulf hair half hall hand hang hard harp hawk head heal heap hear heat heel held helm help herb herd here hero hide
high hike hill hint hire hold hole home hook hope horn hose host hour huge hunt hurt icon idea inch into iron item
jazz join joke jump jury just keen keep kept kick kind king kite knee knew knit knot know lace lack lady lake lamb
lamp land lane last late lawn lazy lead leaf lean leap left lend lens less life lift like lily lime line link lion
list live load loaf loan lock loft logo long look loop lose loss lost loud love luck lung made mail main make male
mall many mark mask mass mate math maze meal mean meat meet melt menu mice mild mile milk mill mind mine mint miss
mist mode mole mood moon more moss most moth move much must myth nail name navy near neat neck need nest next nice
nine none noon norm nose note noun obey odor once only onto open oral oven over pace pack page paid pair pale palm
park part pass past path peak pear peel pick pier pile pine pink pipe plan play plot plug plum poem poet pole pond
pony pool port pose post pour pull pump pure push quit quiz race raft rail rain rare rate read real rely rent rest
rice rich ride ring ripe rise risk road roar robe rock role roll roof room root rope rose ruby rule rush rust safe
sage sail sale salt same sand save scan seal seat seed seek seem seen self sell send sent shed ship shoe shop show
shut side sign silk sing sink site size skin slip slow snap snow soap sock soft soil sold sole some song soon sort
soup sour spin spot star stay stem step stir stop such suit sure swan swim tail take tale talk tall tank tape task
taxi team tear tell tend tent term test text than that them then they thin this tide tidy tile till time tiny toad
told tone tool torn tour town trap tray tree trim trip true tube tuna tune turn twin type unit upon urge used user
vary vase vast veil very vest view vine visa void vote wage wait wake walk wall warm wash wave weak wear week well
went were west what when wide wife wild will wind wine wing wipe wire wise wish with wolf wood wool word wore work
worm wrap yard yarn year yell your zero zone zoom
about above actor adapt admit adopt adult after again agent agree ahead alarm album alert alike alive allow alone
along alter amber among ample angel angle angry ankle apart apple apply apron arena argue arise armor array arrow
aside asset atlas audio avoid awake award aware bacon badge baker basic basin basis batch beach beard beast begin
being below bench berry birth black blade blank blaze bless blind block bloom board boast bonus boost booth brain
brake brand brass brave bread break brick bride brief bring broad brook broom brown brush build bunch cabin cable
camel candy canoe cargo carry carve catch cause cedar chain chair chalk charm chart chase cheap check cheek cheer
chess chest chief child chill choir claim class clean clear clerk click cliff climb clock close cloth cloud clown
coach coast cocoa comet comic coral couch count court cover craft crane cream creek crisp cross crowd crown crust
curve cycle daily dairy daisy dance delay delta depth diary dozen draft drain drama dream dress drift drill drink
drive eager eagle early earth easel eight elbow elder elect empty enemy enjoy enter entry equal error essay event
every exact exist extra fable faith false fancy feast fence ferry fever fiber field fifth fifty final first flame
flash fleet float flock flood floor flour fluid flute focus force forge forty forum found frame fresh front frost
fruit funny giant given glass globe glory glove grace grade grain grand grant grape graph grass great green greet
grill group grove grown guard guess guest guide habit happy hasty heart heavy hedge hello hobby honey honor horse
hotel house human humor hurry ideal image index inner input issue ivory jelly jewel joint judge juice kayak knife
knock label labor large laser later laugh layer learn lease least leave lemon level lever light limit linen liver
llama local lodge logic loose lotus lower loyal lucky lunar lunch magic major maker mango maple march match mayor
meant medal media melon mercy merit merry metal meter might minor minus model money month moral motor mount mouse
mouth movie music nerve never newly niece night noble noise north novel nurse ocean offer often olive onion opera
orbit order organ other otter outer owner paint panda panel paper party pasta paste patch pause peace peach pearl
pedal penny phase phone photo piano piece pilot pitch place plain plane plant plate plaza point porch pouch pound
power press price pride prime print prize proof proud pulse punch pupil puppy purse queen quest quick quiet quilt
quite quote radar radio raise ranch range rapid ratio reach react ready realm rebel refer relax reply rider ridge
right rigid rinse rival river roast robin robot rocky rough round route royal ruler rural salad sauce scale scarf
scene scent scoop scope score scout seven shade shake shape share shark sharp sheep sheet shelf shell shine shiny
shirt shock shore short shout sight silly since sixth skate skill skirt sleep slice slide slope small smart smell
smile smoke snack snake sneak solar solid solve sound south space spare spark speak speed spell spend spice spine
split spoon sport spray squad stack staff stage stair stamp stand start state steam steel steep stern stick stiff
still stone stool store storm story stove straw strip study stuff style sugar sunny super swamp sweet swift swing
sword table taste teach teeth tempo tenth thank theme there thick thing think third thorn three throw thumb tiger
tight timer title toast today token tooth topic torch total touch tough towel tower trace track trade trail train
treat trend trial tribe trick truck truly trunk trust truth tulip twice twist uncle under union unite until upper
urban usual valid value vapor vault verse video visit vital vivid vocal voice voter wagon waste watch water weary
weave wedge whale wheat wheel where which while white whole witty woman world worry worth woven wrist write wrong
yacht yeast yield young youth zebra
absorb accent accept access across acting action active actual adjust advice affect afford afraid agency agenda alcove
almost always amount anchor animal annual answer anthem anyone appeal appear arctic around arrive artist aspect assign
assist assume attach attend author autumn avenue bakery ballet bamboo banana banner barley barrel basket battle beauty
beaver become before behalf behave behind belief belong better beyond bishop bitter bonnet border borrow bottle bottom
bounce branch breath breeze bridge bright broken bronze bubble bucket budget buffet bundle burden bureau butter button
camera canary cancel candle canvas canyon carbon career carpet carrot castle casual cattle caught celery center cereal
chance change charge cheese cherry choice choose chorus circle circus clever client closet clover cobweb coffee collar
colony column combat comedy common cookie copper corner costly cotton county couple course cousin crayon create credit
crisis custom dancer decade decent decide deeply defend define degree demand depart depend desert design desire detail
detect device dinner direct divide doctor dollar domain donkey double dragon drawer driven driver during easily eating
editor effect effort eighth either eleven emerge empire employ enable energy engage engine enough ensure entire escape
estate evolve exceed except expand expect expert export extend fabric factor fairly falcon fallen family famous farmer
father fellow fiddle figure filter finger finish flavor flower flying follow forest forget formal former fossil fourth
freely freeze friend frozen future galaxy garage garden garlic gather gentle ginger giving glance global goalie golden
gospel govern grocer ground growth guitar hammer handle happen harbor hardly health heaven height helmet hidden hiking
holder hollow honest hungry hunter ignore impact import inform insect inside insist intend invent invite island itself
jacket jigsaw jungle junior kennel kettle kidney kindly kitten ladder lately launch lawyer leader league legend length
lesson letter liquid listen little lively living lizard locate lovely luxury magnet making manage manner manual marble
margin marine market master matter meadow medium member memory mental mentor method middle mighty mirror mitten mobile
modern modest moment monkey mostly mother motion muscle museum mutual myself narrow nation native nature nearby nearly
needle nephew nickel nobody normal notice notion number object obtain office online option orange orchid origin outfit
output oyster packet palace parade parcel parent parrot patent patrol pebble pencil people pepper period permit person
phrase picnic pigeon pillow planet player please plenty pocket poetry police policy polite potato powder prefer pretty
prince profit prompt proper public puddle pulley puppet purple puzzle python quarry rabbit racket random rarely rather
reader reason recall recent recipe record reduce reform refuse region regret relate relief remain remedy remind remote
remove repair repeat report rescue resist resort result retire return reveal review reward rhythm ribbon ritual rocket
rubber saddle safely safety salmon sample scheme school screen scroll search season second secret sector secure select
senior series settle shadow shield shower shrimp signal silent silver simple singer single sister sketch smooth soccer
social source speech spider spirit splash spread spring square stable statue steady sticky stream street stress strict
string strong studio subtle sudden summer summit sunset supper supply surely survey switch symbol system tablet talent
target temple tender tennis thanks theory thirty thread thrive throat throne ticket timber tissue toward travel treaty
tunnel turkey turtle twelve twenty unable unfold unique unlock update useful valley vanish velvet vendor vessel violin
vision visual volume voyage walnut wander warmth wealth weekly weight window winner winter wisdom within wonder wooden
worker writer yellow zipper
ability achieve acrobat address advance adviser against airline airport alfalfa already amazing analyst ancient
animals another antique anxiety anxious apology appoint approve apricot archive arrange arrival article artwork
athlete attempt attract average avocado awkward balance balloon bargain battery because bedroom believe beneath
benefit besides between bicycle biology biscuit blanket blossom bracket breathe brother buffalo builder burning
cabbage cabinet calcium camping capable capital captain capture caravan careful cartoon catalog ceiling central
century ceramic certain chamber channel chapter charity charter checker chicken chimney citizen classic climate
cluster coconut collect college comfort command comment company compare compass compete complex compose concept
concern concert conduct confirm connect consist contact contain content contest context control convert cooking
correct costume cottage council counter country courage cricket crystal culture curious current curtain cushion
cyclist declare default deliver deposit descend despite dessert destiny develop diamond digital dignity dismiss
display dispute distant dolphin drawing driving drought dynamic eastern economy edition elegant element embrace
emotion emperor endless enhance evening evident exactly examine example excited exhibit expense explain explore
express extreme factory failure fantasy fashion feather feature federal feeling fiction fifteen finally finance
firefly fishing fitness flannel foreign forever formula fortune forward founder freedom freight fulfill funeral
gallery garment general genuine giraffe glacier glimpse glitter goggles gorilla gradual gravity grocery habitat
halfway hallway hammock hamster handful harmony harvest heading healthy hearing helpful herself highway himself
history holiday horizon hundred husband iceberg imagine improve include initial inquiry insight inspire install
instant instead intense involve isolate jewelry journal journey justice kingdom kitchen ladybug landing lantern
largely lasting lateral laundry lawsuit leading leather lecture leisure leopard lettuce liberty library license
lighter limited lobster logical lottery loyalty luggage machine mailbox mammoth manager mandate mansion margins
massive maximum meaning measure meeting mention message midterm migrate mineral minimum miracle missing mission
mistake mixture monitor monster morning musical mustard mystery natural neither nervous network neutral nothing
nuclear nursery nurture oatmeal obvious octopus offense officer opening operate opinion orchard organic ostrich
outcome outdoor outside overall package painter pancake panther parking partial partner passage passion passive
patient pattern payment peacock penguin pension perfect perform perhaps persist picture pilgrim pioneer plastic
platter playful popcorn popular portion pottery poverty precise predict prepare present prevent primary printer
privacy private problem process produce product profile program project promise promote protect protein protest
provide publish pumpkin purpose quality quarter quickly radical rainbow readily reality realize receive recover
reflect regular related release remains removal replace request require reserve resolve respect respond restore
retreat reunion revenue reverse roughly routine sailing satisfy scholar science scratch section segment serious
service session setting settler seventh several shelter sheriff shortly shuttle silence similar sincere sixteen
slender soldier someone speaker special sponsor stadium station stomach storage strange stretch student subject
succeed success suggest summary sunrise support suppose supreme surface surgeon survive sustain swallow sweater
teacher tension theater thought thunder tonight totally tourism tourist towards tractor traffic trailer trainer
trouble trumpet twelfth typical uniform unknown unusual upright utility vaccine vanilla variety vehicle venture
version veteran village vintage visible visitor vitamin volcano walking warrior wealthy weather website wedding
weekend welcome welfare western whisper whistle willing witness wrapper writing written younger
absolute abstract academic accident accurate achieved activity actually addition adequate advanced aircraft airplane
alphabet although aluminum ambition analysis ancestor announce anything anywhere apparent appendix approach approval
argument artistic assembly attitude audience backpack backyard bacteria barbecue baseball basement bathroom becoming
behavior birthday blizzard bluebird bookcase boundary breaking broccoli brochure building bulletin business calendar
campaign capacity cardinal carnival casually category cautious chairman champion charming chemical chestnut children
chipmunk cinnamon civilian cleaning climbing clothing coaching collapse colorful combined commerce complain complete
composer computer conclude concrete conflict consider constant consumer continue contract contrast convince corridor
coverage creation creative creature cucumber cultural cupboard customer database daughter daylight deadline decision
decorate decrease delicate delivery demanded designer detailed dialogue diameter dinosaur diplomat disaster discount
discover distance distinct district division doctrine document domestic dominant doorbell doorstep doubtful downtown
dramatic drawback dressing duration dynamics earnings eggplant election electric elephant eleventh emphasis employee
employer engineer enormous entirely entrance envelope equation estimate evaluate eventual everyday everyone evidence
exchange exciting exercise expected explicit exposure extended external familiar favorite featured feedback festival
finished flamingo flexible football forecast forehead formerly fountain fraction fragment frequent friendly frontier
function generate generous gigantic goldfish graceful gradient graduate graphics grateful greeting grounded guardian
guidance handbook handmade hardware harmless headache headline heritage hesitate highland historic homework honestly
hospital humorous identify identity illusion imperial improved incident included increase indicate indirect industry
informal inherent innocent instance instinct instruct integral interact interest interior interval involved
isolated judgment junction keyboard kindness knitting landmark language latitude learning lecturer lemonade lifetime
lighting likewise location magazine magnetic maintain majority marathon material mattress maximize meantime measured
mechanic medicine memorial merchant midnight military minister ministry minority moderate molecule momentum monument
mosquito mountain mushroom musician mutation national negative neighbor nineteen notebook numerous observer obstacle
occasion official operator opponent opposite ordinary organize original overcome overlook painting pamphlet parallel
particle passport patience peaceful peculiar personal persuade petition pharmacy physical pinecone planning platform
pleasant pleasure possible postcard powerful practice precious predator presence preserve pressure previous
princess printing priority probably producer profound progress properly proposal prospect protocol province publicly
purchase quantity question railroad rational reaction recently recovery regional register reindeer relation relative
relevant reliable religion remember reminder renowned repeated reporter republic research resident resource response
restless restrict reviewer revision romantic sandwich saucepan scenario schedule scissors seasonal security sensible
sentence separate sequence shepherd shipping shopping shortage shoulder singular situated skeleton software solution
somebody somewhat southern specific spectrum spending squirrel standard starfish stepping straight stranger strategy
strength striking strongly struggle suburban suddenly suitable sunlight superior supposed surgical surprise surround
survival swimming symbolic sympathy symphony syndrome teaching teaspoon teenager telegram tendency terminal terrific
textbook thinking thirteen thousand together tomorrow tortoise transfer treasure triangle tropical trousers ultimate
umbrella unlikely upcoming upstairs vacation valuable variable vertical vicinity villager vineyard volatile volcanic
warranty waterway weakness wildlife wireless woodland workshop yourself
"""

_LIST = _TEXT.split()
WORDS = {length: tuple(word for word in _LIST if len(word) == length) for length in sorted({*map(len, _LIST)})}


def join_letters(action: str) -> str:
    """Return ``action`` in lower case, with single letters joined: "C r a n e" -> "crane".

    The letters are joined only if all words are single letters, so that "I guess" does not become a word.
    """
    pieces = action.lower().split()
    return "".join(pieces) if all([len(piece) == 1 for piece in pieces]) else " ".join(pieces)
